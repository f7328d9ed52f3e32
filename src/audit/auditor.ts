/** Decides by the policy which requests are audited, and counts what comes of it. */
import { wallMs } from '../lib/environment.ts'
import type { Family } from '../lib/exposition.ts'
import { WallTimes } from '../lib/wall-times.ts'
import type { Attributes } from '../schema/access.ts'
import type { AuditEvent } from './event.ts'
import { type AuditPolicy, LEVELS, type Level } from './policy.ts'
import { RequestAudit, type RequestFacts } from './request-audit.ts'
import type { AuditSink, Keeping } from './sink.ts'

const annotated = (event: AuditEvent, key: string, value: string): AuditEvent => ({
  ...event,
  annotations: event.annotations.with(key, value),
  receivedWith: event.receivedWith?.with(key, value),
})

export class Auditor {
  readonly #policy: AuditPolicy
  readonly #sink: AuditSink
  readonly #now: () => number
  readonly #times: WallTimes
  readonly #levels: Record<Level, number> = { None: 0, Metadata: 0, Request: 0, RequestResponse: 0 }
  readonly #lost = new Map<string, number>()
  #events = 0
  #rejected = 0

  constructor(
    policy: AuditPolicy,
    sinkFor: (lost: (plugin: string, events: readonly AuditEvent[]) => void) => AuditSink,
    now: () => number = wallMs,
  ) {
    this.#policy = policy
    this.#now = now
    this.#times = new WallTimes(now)
    const sink = sinkFor((plugin, events) => this.#lost.set(plugin, (this.#lost.get(plugin) ?? 0) + events.length))
    this.#sink = {
      write: events => {
        for (const { receivedWith } of events) this.#events += receivedWith === undefined ? 1 : 2
        return sink.write(events)
      },
      isGrouped: sink.isGrouped === true,
      keeping: sink.keeping,
      close: () => sink.close(),
    }
  }

  /** The same audit, with an annotation for all of its events. */
  annotated(key: string, value: string): Auditor {
    const sink = this.#sink
    const annotating = {
      write: (events: readonly AuditEvent[]) => sink.write(events.map(event => annotated(event, key, value))),
      isGrouped: sink.isGrouped === true,
      keeping: sink.keeping,
      close: async () => {},
    }
    return new Auditor(this.#policy, () => annotating, this.#now)
  }

  /** The audit of a request; undefined where the policy wants none. */
  begin(facts: RequestFacts, attributes: Attributes): RequestAudit | undefined {
    const rule = this.#policy.ruleFor(facts.user, attributes)
    this.#levels[rule.level]++
    if (rule.level === 'None') return undefined
    return new RequestAudit(facts, attributes, { rule, receivedAt: this.#times.at(facts.stopwatch.began), sink: this.#sink })
  }

  /** Whether the events of one iteration are kept together: then one may be written with the next of its request. */
  get isGrouped(): boolean {
    return this.#sink.isGrouped === true
  }

  /** How requests wait until their events are kept; undefined where they do not. */
  get keeping(): Keeping | undefined {
    return this.#sink.keeping
  }

  /** Counts a request that is refused as its event could not be kept. */
  rejected(): void {
    this.#rejected++
  }

  /** Delivers the events that it still holds. */
  close(): Promise<void> {
    return this.#sink.close()
  }

  *families(): Iterable<Family> {
    yield {
      name: 'apiserver_audit_event_total',
      help: 'Audit events that were generated and sent to the audit backend.',
      type: 'counter',
      samples: [[{}, this.#events]],
    }
    yield {
      name: 'apiserver_audit_error_total',
      help: 'Audit events that could not be kept, by the plugin that failed.',
      type: 'counter',
      samples: Array.from(this.#lost, ([plugin, events]) => [{ plugin }, events]),
    }
    yield {
      name: 'apiserver_audit_level_total',
      help: 'Requests by the level at which the audit policy has them recorded.',
      type: 'counter',
      samples: LEVELS.filter(level => this.#levels[level] > 0).map(level => [{ level }, this.#levels[level]]),
    }
    yield {
      name: 'apiserver_audit_requests_rejected_total',
      help: 'Requests that were refused as their audit event could not be kept.',
      type: 'counter',
      samples: [[{}, this.#rejected]],
    }
  }
}
