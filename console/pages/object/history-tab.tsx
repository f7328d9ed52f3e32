/** The history of an object: a slider over its revisions, the difference between any two, and restore as an edit. */
import { useState } from 'preact/hooks'
import { may } from '../../core/access.ts'
import { type Kind, objectPath } from '../../core/discovery.ts'
import type { KubeObject } from '../../core/object.ts'
import { usePast } from '../../core/past.ts'
import { colourOf } from '../../core/revisions.ts'
import { age, clock, now } from '../../core/time.ts'
import { forPeople, yamlLines } from '../../core/yaml-lines.ts'
import { Badge, Notice, Segments, Spinner } from '../../parts/basics.tsx'
import { Diff } from '../../parts/diff.tsx'
import { Icon } from '../../parts/icons.tsx'
import { YamlText } from '../../parts/yaml-line.tsx'
import { Timeline } from '../history/timeline.tsx'
import { ReadMore } from './read-more.tsx'

type View = 'diff' | 'object'

export default function HistoryTab({ kind, object, onRestore }: { kind: Kind; object: KubeObject; onRestore(past: KubeObject): void }) {
  const { namespace, name, resourceVersion } = object.metadata
  const past = usePast(objectPath(kind, namespace, name), resourceVersion)
  const [chosen, setChosen] = useState<string | undefined>(undefined)
  const [against, setAgainst] = useState('before')
  const [view, setView] = useState<View>('diff')
  const mayUpdate = kind.verbs.includes('update') && may({ verb: 'update', kind, namespace, name }).value
  const oldestFirst = [...past.revisions].reverse()
  if (oldestFirst.length === 0)
    return past.error ? <Notice tone="bad" title={String(past.error)} /> : <Spinner label="Reading the history" />
  const found = oldestFirst.findIndex(({ number }) => number === chosen)
  const at = found < 0 ? oldestFirst.length - 1 : found
  const revision = oldestFirst[at]!
  const newest = oldestFirst.at(-1)!
  const other =
    against === 'before' ? oldestFirst[at - 1] : against === 'now' ? newest : oldestFirst.find(({ number }) => number === against)
  const shown = forPeople(revision.object, { isStable: true })
  return (
    <div class="stack">
      <Timeline
        label="Revision"
        ticks={oldestFirst.map(({ number, time, owner, writer }) => ({
          id: number,
          time,
          writer: owner?.manager ?? writer?.user ?? '',
          title: `revision ${number}`,
        }))}
        at={at}
        onChoose={index => setChosen(oldestFirst[index]!.number)}
      />
      <div class="row row-wrap row-between">
        <div class="row row-wrap" role="status">
          <h2>Revision {revision.number}</h2>
          {revision.isCreation && <Badge tone="good">created</Badge>}
          {at === oldestFirst.length - 1 && <Badge tone="info">now</Badge>}
          <span class="row">
            <span class={`dot writer-${colourOf(revision.owner?.manager ?? '')}`} aria-hidden="true" />
            {revision.owner?.manager ?? 'unknown manager'}
            {revision.owner?.subresource ? ` (${revision.owner.subresource})` : ''}
          </span>
          <span class="muted">{revision.writer?.user}</span>
          {revision.time && (
            <span class="muted" title={clock(revision.time)}>
              {age(revision.time, now.value)} ago
            </span>
          )}
        </div>
        <div class="row row-wrap">
          <Segments<View>
            label="View"
            value={view}
            options={[
              ['diff', 'Changes'],
              ['object', 'Object'],
            ]}
            onChange={setView}
          />
          {view === 'diff' && (
            <select class="input" aria-label="Compare with" value={against} onChange={event => setAgainst(event.currentTarget.value)}>
              <option value="before">with the revision before</option>
              <option value="now">with the present</option>
              {oldestFirst
                .filter(({ number }) => number !== revision.number)
                .reverse()
                .map(({ number, owner }) => (
                  <option key={number} value={number}>
                    with {number} {owner?.manager}
                  </option>
                ))}
            </select>
          )}
          {mayUpdate && at < oldestFirst.length - 1 && (
            <button type="button" class="button" onClick={() => onRestore(revision.object)}>
              <Icon name="undo" /> Restore as an edit
            </button>
          )}
        </div>
      </div>
      {past.note && <p class="faint small">{past.note}</p>}
      {view === 'diff' ? (
        other || revision.isCreation ? (
          <Diff
            key={`${revision.number} ${other?.number}`}
            label="Changes"
            before={other && (against === 'now' ? shown : forPeople(other.object, { isStable: true }))}
            after={other && against === 'now' ? forPeople(other.object, { isStable: true }) : shown}
          />
        ) : (
          <p class="muted">This is the oldest revision that is kept: there is none before to compare with. Choose “Object” to see it.</p>
        )
      ) : (
        <section class="diff code" aria-label={`Object at revision ${revision.number}`} tabIndex={0}>
          {yamlLines(shown).map(({ text }, i) => (
            <div class="diff-line" key={i}>
              <span />
              <span>
                <YamlText text={text} />
              </span>
            </div>
          ))}
        </section>
      )}
      <div class="row row-wrap faint small">
        {past.revisions.length} revisions.{' '}
        {past.isReading
          ? 'Reading older ones…'
          : past.isComplete
            ? 'From its creation on.'
            : past.hasMore
              ? ''
              : 'Older ones have been compacted: --history-window decides how long they are kept.'}
        {past.hasMore && !past.isReading && <ReadMore past={past} />}
      </div>
    </div>
  )
}
