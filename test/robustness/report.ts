/** Formats a violation for people: the violated guarantee and the few lines of history around it. */
import type { Act, History, Revision, Time, Violation, WatchEvent } from './history.ts'
import { showSelection } from './selection.ts'

const LINES = 24

/** A violation with what happened around it. */
export function describe(history: History, violation: Violation): string {
  return [`✗ ${violation.promise}: ${violation.what}`, ...excerpt(history, violation).map(line => `    ${line}`)].join('\n')
}

type Line = { readonly time: Time; readonly text: string; readonly revision?: Revision | undefined }

/** The lines closest to the violation, in order of time. */
function excerpt({ acts }: History, { key, revision, time, promise }: Violation): string[] {
  const lines = acts.flatMap(act => linesOf(act, key, promise.includes('bookmark')))
  const at = time ?? lines.find(line => line.revision === revision)?.time ?? 0
  const distance = (line: Line) => (line.revision !== undefined && line.revision === revision ? -1 : Math.abs(line.time - at))
  const nearest = lines.sort((a, b) => distance(a) - distance(b)).slice(0, LINES)
  return nearest.sort((a, b) => a.time - b.time).map(line => `${(line.time - at).toFixed(1).padStart(9)} ms  ${line.text}`)
}

/** The lines of an act that concern a key; without a key, all. */
function linesOf(act: Act, key: string | undefined, withBookmarks: boolean): Line[] {
  const span = `(took ${(act.end - act.start).toFixed(1)} ms)`
  const about = (other: string) => key === undefined || key === other
  switch (act.type) {
    case 'put': {
      if (!about(act.key)) return []
      const { outcome } = act
      const named = act.expects === undefined ? '' : ` if at ${act.expects}`
      const came =
        outcome.is === 'done' ? `→ ${outcome.object.revision}` : outcome.is === 'refused' ? `→ refused ${outcome.code}` : '→ no answer'
      const text = `${act.client} ${act.verb} ${act.key} = ${act.value} ${JSON.stringify(act.labels)}${named} ${came} ${span}`
      return [{ time: act.end, text, revision: outcome.is === 'done' ? outcome.object.revision : undefined }]
    }
    case 'delete': {
      if (!about(act.key)) return []
      const { outcome } = act
      const came =
        outcome.is === 'done'
          ? `→ ${outcome.revision ?? outcome.uid}`
          : outcome.is === 'refused'
            ? `→ refused ${outcome.code}`
            : '→ no answer'
      const named = act.expects === undefined ? '' : ` if at ${act.expects}`
      return [
        {
          time: act.end,
          text: `${act.client} delete ${act.key}${named} ${came} ${span}`,
          revision: outcome.is === 'done' ? outcome.revision : undefined,
        },
      ]
    }
    case 'sweep': {
      const swept = act.outcome.is === 'done' ? act.outcome.items.map(item => item.key) : []
      if (key !== undefined && act.outcome.is === 'done' && !swept.includes(key)) return []
      return [{ time: act.end, text: `${act.client} sweep ${showSelection(act.selection)} → ${act.outcome.is} ${swept} ${span}` }]
    }
    case 'get':
      if (!about(act.key)) return []
      return [
        { time: act.end, text: `${act.client} get ${act.key} → ${act.found?.revision ?? 'absent'} ${span}`, revision: act.found?.revision },
      ]
    case 'page':
      return [pageLine(act, key, span)]
    case 'watch':
      return act.events
        .filter(event => (event.type === 'BOOKMARK' ? withBookmarks || key === undefined : about(event.object.key)))
        .map(event => eventLine(act, event))
  }
}

function pageLine(page: Extract<Act, { type: 'page' }>, key: string | undefined, span: string): Line {
  const found = key === undefined ? '' : `, ${key} ${page.items.find(item => item.key === key)?.revision ?? 'not in it'}`
  const after = page.after === undefined ? '' : ` after ${page.after}`
  const text = `${page.client} list ${showSelection(page.selection)}${after} → ${page.items.length} at ${page.revision}${found} ${span}`
  return { time: page.end, text, revision: page.revision }
}

function eventLine({ client, from, selection }: Extract<Act, { type: 'watch' }>, event: WatchEvent): Line {
  const said =
    event.type === 'BOOKMARK'
      ? `BOOKMARK ${event.revision}`
      : `${event.type} ${event.object.key} = ${event.object.value} at ${event.object.revision}`
  const revision = event.type === 'BOOKMARK' ? event.revision : event.object.revision
  return { time: event.time, text: `${client} watch ${showSelection(selection)} from ${from ?? 'now'}: ${said}`, revision }
}

/** The content of a history, in one line. */
export function summary({ acts }: History): string {
  const count = (type: Act['type']) => acts.filter(act => act.type === type).length
  const events = acts.reduce((sum, act) => sum + (act.type === 'watch' ? act.events.length : 0), 0)
  const ends = (how: string) => acts.filter(act => act.type === 'watch' && act.how === how).length
  const unknown = acts.filter(act => 'outcome' in act && act.outcome.is === 'unknown').length
  return (
    `${count('put') + count('delete') + count('sweep')} writes (${unknown} without an answer), ${count('get')} reads, ${count('page')} lists and pages, ` +
    `${events} events in ${count('watch')} watches (${ends('ended')} ended, ${ends('cut')} cut, ${ends('closed')} left, ${ends('expired')} expired)`
  )
}
