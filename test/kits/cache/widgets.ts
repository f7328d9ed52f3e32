/** Fixtures for tests of the cache: a small kind, stored entries, and a sink that records events. */

import type { EventType, WatchEvent, WatchSink } from '../../../src/cache/watch-stream.ts'
import { defineKind } from '../../../src/schema/kind.ts'
import { type Resource, resourceOf } from '../../../src/schema/resource.ts'
import type { StatusError } from '../../../src/schema/status-error.ts'
import { message, string } from '../../../src/schema/types.ts'
import type { Entry, Event, Revision } from '../../../src/storage/store.ts'

export const Widget = defineKind({
  group: 'test.example',
  version: 'v1',
  kind: 'Widget',
  scope: 'Namespaced',
  names: { plural: 'widgets' },
  spec: message('WidgetSpec', { color: [1, string, 'Its color.'] }),
  selectable: { 'spec.color': o => o.spec.color },
})
export const widgets: Resource = resourceOf(Widget, 'k8s.io')

export type State = { readonly uid?: string; readonly labels?: Record<string, string>; readonly color?: string }

/** A stored widget, as the registry would write it. */
export function entryOf(path: string, state: State, modified: Revision): Entry {
  const [namespace, name] = path.split('/')
  const metadata = {
    name,
    namespace,
    ...(state.uid && { uid: state.uid }),
    resourceVersion: '',
    ...(state.labels && { labels: state.labels }),
  }
  const object = { kind: 'Widget', apiVersion: 'test.example/v1', metadata, spec: state.color === undefined ? {} : { color: state.color } }
  return { key: `${widgets.prefix}${path}`, value: Buffer.from(JSON.stringify(object)), created: modified, modified }
}

export const put = (path: string, state: State, revision: Revision): Event => ({
  key: `${widgets.prefix}${path}`,
  after: entryOf(path, state, revision),
  revision,
})
export const drop = (path: string, revision: Revision): Event => ({
  key: `${widgets.prefix}${path}`,
  after: undefined,
  revision,
})

/** Records events in readable form; `hold` simulates a client that does not read. */
export class Recorder implements WatchSink {
  readonly events: { type: EventType; path: string; revision: Revision; color: string | undefined }[] = []
  ended: { error: StatusError | undefined } | undefined
  backlog = 0
  #held = false
  #resume: (() => void) | undefined

  event({ type, json }: WatchEvent): void {
    const { metadata, spec } = JSON.parse(Buffer.from(json).toString())
    this.events.push({
      type,
      path: `${metadata.namespace}/${metadata.name}`,
      revision: Number(metadata.resourceVersion),
      color: spec.color,
    })
    if (this.#held) this.backlog += json.length
  }
  end(error?: StatusError): void {
    this.ended = { error }
  }
  onDrain(resume: () => void): void {
    if (this.#held) this.#resume = resume
    else setImmediate(resume)
  }

  /** Stops reading, as seen from the server: the backlog grows from now on. */
  hold(backlog: number): void {
    this.#held = true
    this.backlog = backlog
  }
  release(): void {
    this.#held = false
    this.backlog = 0
    const resume = this.#resume
    this.#resume = undefined
    if (resume) setImmediate(resume)
  }
}
