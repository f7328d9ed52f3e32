/** The tab *Who set this*: the object with a margin of managers, users and times; choosing a line shows the earlier values of its field. */
import { useMemo, useState } from 'preact/hooks'
import { type Kind, objectPath } from '../../core/discovery.ts'
import type { KubeObject } from '../../core/object.ts'
import { ownerAt, ownersOf } from '../../core/owners.ts'
import { changesOfField, lastChangeOf, usePast } from '../../core/past.ts'
import { colourOf } from '../../core/revisions.ts'
import { age, clock, now } from '../../core/time.ts'
import { forPeople, type Path, pathText, scalarText, type YamlLine, yamlLines } from '../../core/yaml-lines.ts'
import { Card, Empty, Spinner } from '../../parts/basics.tsx'
import { YamlText } from '../../parts/yaml-line.tsx'
import { ReadMore } from './read-more.tsx'

type Blamed = YamlLine & {
  readonly manager: string
  readonly user: string
  readonly time: string
  readonly revision: string
  readonly operation: string
}

export default function BlameTab({ kind, object }: { kind: Kind; object: KubeObject }) {
  const { namespace, name, resourceVersion } = object.metadata
  const past = usePast(objectPath(kind, namespace, name), resourceVersion)
  const [chosen, setChosen] = useState<string | undefined>(undefined)
  const [only, setOnly] = useState('')
  const lines = useMemo((): Blamed[] => {
    const owners = ownersOf(object)
    return yamlLines(forPeople(object)).map(line => {
      const owner = ownerAt(owners, line.path)
      // A mapping that is opened here is set by its fields.
      const revision = line.isOpening ? undefined : lastChangeOf(past, line.path)
      return {
        ...line,
        manager: owner?.manager ?? revision?.owner?.manager ?? '',
        operation: owner?.operation ?? '',
        user: revision?.writer?.user ?? '',
        time: revision?.time || owner?.time || '',
        revision: revision?.number ?? '',
      }
    })
  }, [object, past])
  const managers = [...new Set(lines.map(({ manager }) => manager).filter(Boolean))]
  const line = lines.find(({ path }) => pathText(path) === chosen)
  return (
    <div class="stack">
      <div class="row row-wrap">
        <span class="muted">Managers</span>
        {managers.map(manager => (
          <button
            type="button"
            key={manager}
            class="badge writer-badge"
            aria-pressed={only === manager}
            onClick={() => setOnly(only === manager ? '' : manager)}
          >
            <span class={`dot writer-${colourOf(manager)}`} aria-hidden="true" />
            {manager}
          </button>
        ))}
        {past.isReading && <Spinner label="Reading the history" />}
        {past.note && <span class="faint small">{past.note}</span>}
      </div>
      <div class="blame-columns">
        <section class="diff code blame" aria-label="Fields with their writers">
          {lines.map((line, i) => {
            const text = pathText(line.path)
            // A run of lines with one writer is named once.
            const before = lines.slice(0, i).findLast(({ isOpening }) => !isOpening)
            const isSame =
              line.isOpening || (before?.manager === line.manager && before.user === line.user && before.revision === line.revision)
            const isFaded = only !== '' && line.manager !== only
            return (
              <button
                type="button"
                key={`${i}${text}`}
                class="blame-line"
                data-faded={isFaded}
                aria-pressed={chosen === text}
                onClick={() => setChosen(text)}
                title={line.manager ? `${line.manager} ${line.operation} ${clock(line.time)}` : 'set by the server'}
              >
                <span class={`blame-bar ${line.manager ? `writer-${colourOf(line.manager)}` : ''}`} aria-hidden="true" />
                <span class="blame-who">{isSame ? '' : line.manager || (line.isOpening ? '' : 'server')}</span>
                <span class="blame-when">{isSame || line.time === '' ? '' : age(line.time, now.value)}</span>
                <span class="blame-text">
                  <YamlText text={line.text} />
                </span>
              </button>
            )
          })}
        </section>
        <div class="blame-side">
          {line ? (
            <Field line={line} past={past} />
          ) : (
            <Empty icon="user" title="Choose a line">
              <p>Its field shows who set it, when, and its values before.</p>
            </Empty>
          )}
        </div>
      </div>
    </div>
  )
}

const shown = (value: unknown): string =>
  value === undefined ? 'not set' : typeof value === 'object' && value !== null ? JSON.stringify(value, null, 1) : scalarText(value)

function Field({ line, past }: { line: Blamed; past: ReturnType<typeof usePast> }) {
  const changes = useMemo(() => changesOfField(past, line.path as Path), [past, line])
  return (
    <Card title={<code class="wrap-anywhere">{pathText(line.path)}</code>}>
      <div class="stack">
        <dl class="facts">
          <dt>Manager</dt>
          <dd>
            {line.manager || 'server'} {line.operation && <span class="faint">{line.operation}</span>}
          </dd>
          {line.time && (
            <>
              <dt>Set</dt>
              <dd>
                {age(line.time, now.value)} ago <span class="faint">{clock(line.time)}</span>
              </dd>
            </>
          )}
          {line.user && (
            <>
              <dt>User</dt>
              <dd class="wrap-anywhere">{line.user}</dd>
            </>
          )}
          {changes[0] && !changes[0].isFirst && (
            <>
              <dt>Value before</dt>
              <dd>
                <code class="wrap-anywhere">{shown(changes[0].before)}</code>
              </dd>
            </>
          )}
        </dl>
        <h3>Changes of this field</h3>
        {changes.length === 0 && (
          <p class="muted">
            {past.isReading
              ? 'Reading the history…'
              : `It has not changed within ${past.hasMore ? 'the revisions that were read' : 'the history that is kept'}.`}
          </p>
        )}
        <ol class="field-changes">
          {changes.slice(0, 50).map(({ revision, value, before, isFirst }) => (
            <li key={revision.number}>
              <div class="row row-wrap small muted">
                <span class={`dot writer-${colourOf(revision.owner?.manager ?? '')}`} aria-hidden="true" />
                <b>{revision.owner?.manager ?? 'unknown manager'}</b>
                {revision.writer && <span>{revision.writer.user}</span>}
                <span title={clock(revision.time)}>{age(revision.time, now.value)} ago</span>
                <span class="faint">revision {revision.number}</span>
              </div>
              <code class="wrap-anywhere">
                {isFirst ? 'created with ' : `${shown(before)} → `}
                {shown(value)}
              </code>
            </li>
          ))}
        </ol>
        {past.hasMore && !past.isReading ? (
          <ReadMore past={past} />
        ) : (
          !past.isReading && !past.isComplete && <p class="faint small">Older revisions have been compacted.</p>
        )}
      </div>
    </Card>
  )
}
