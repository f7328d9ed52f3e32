/** A list or a whole namespace as it was: a slider over the writes that the history keeps. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { messageOf } from '../../core/api.ts'
import { findKind, type Kind, listable, listPath, qualifiedName } from '../../core/discovery.ts'
import { healthOf } from '../../core/health.ts'
import { listAt, oldestRevision, type Write, writesOf } from '../../core/list-past.ts'
import { namespace as current } from '../../core/namespace.ts'
import { href, query, setQuery, toObject } from '../../core/router.ts'
import { age, clock, now } from '../../core/time.ts'
import { forPeople } from '../../core/yaml-lines.ts'
import { Badge, Card, Empty, Notice, Spinner, useAsync } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { Diff } from '../../parts/diff.tsx'
import { Timeline } from './timeline.tsx'

/** Kinds that change all the time, and tell nothing of a namespace's history. */
const NOISY = new Set(['events', 'leases'])

export default function PastPage() {
  useCrumbs([{ text: 'History' }])
  const namespace = current.value
  const wanted = query.value.get('kind') ?? 'deployments.apps'
  const kinds = useMemo(() => {
    const all = listable.value.filter(({ verbs, plural }) => verbs.includes('watch') && !NOISY.has(plural))
    return wanted === '*' ? all.filter(({ namespaced }) => namespaced) : all.filter(kind => qualifiedName(kind) === wanted)
  }, [wanted, listable.value])
  const options = listable.value.filter(({ verbs }) => verbs.includes('watch'))
  return (
    <div class="page">
      <div class="page-head">
        <div>
          <h1>History</h1>
          <p class="muted">
            {wanted === '*' ? `Everything in ${namespace || 'all namespaces'}` : `${wanted} in ${namespace || 'all namespaces'}`}, as it was
            at any revision that the server keeps.
          </p>
        </div>
        <select
          class="input"
          aria-label="Kind"
          value={wanted}
          onChange={event => setQuery({ kind: event.currentTarget.value, at: undefined })}
        >
          <option value="*">All kinds of the namespace</option>
          {options.map(kind => (
            <option key={qualifiedName(kind)} value={qualifiedName(kind)}>
              {kind.kind} {kind.group ? `(${kind.group})` : ''}
            </option>
          ))}
        </select>
      </div>
      <PastOf key={`${wanted} ${namespace}`} kinds={kinds} namespace={namespace} />
    </div>
  )
}

async function readWrites(kinds: readonly Kind[], namespace: string, abort: AbortSignal): Promise<{ writes: Write[]; oldest: string }> {
  const first = kinds[0]
  if (!first) return { writes: [], oldest: '' }
  const { oldest } = await oldestRevision(listPath(first, namespace), abort)
  const lists = await Promise.all(
    kinds.map(kind => writesOf(kind, namespace, oldest, abort).catch(error => (kinds.length === 1 ? Promise.reject(error) : []))),
  )
  return { writes: lists.flat().sort((a, b) => Number(a.revision) - Number(b.revision)), oldest }
}

function PastOf({ kinds, namespace }: { kinds: readonly Kind[]; namespace: string }) {
  const { value, error, isLoading, reload } = useAsync(abort => readWrites(kinds, namespace, abort), [kinds.length])
  const writes = value?.writes ?? []
  const chosen = query.value.get('at')
  const found = writes.findIndex(({ revision }) => revision === chosen)
  const at = found < 0 ? writes.length - 1 : found
  const write = writes[at]
  if (error) return <Notice tone="bad" title={messageOf(error)} />
  if (isLoading && !value) return <Spinner label="Reading the history" />
  if (!write)
    return (
      <Empty icon="history" title="No writes are kept">
        <p>Nothing of this kind was written since revision {value?.oldest}.</p>
        <button type="button" class="button" onClick={reload}>
          Read again
        </button>
      </Empty>
    )
  const before = writes
    .slice(0, at)
    .findLast(({ object, kind }) => object.metadata.uid === write.object.metadata.uid && kind === write.kind)
  const { metadata } = write.object
  return (
    <div class="stack stack-wide">
      <Timeline
        label="Write"
        ticks={writes.map(({ revision, time, manager, type, kind, object }) => ({
          id: `${revision}${kind.plural}`,
          time,
          writer: manager,
          title: `${WORDS[type] ?? type} ${kind.kind} ${object.metadata.name}`,
        }))}
        at={at}
        onChoose={index => setQuery({ at: writes[index]!.revision })}
      />
      <div class="row row-wrap" role="status">
        <h2>Revision {write.revision}</h2>
        <Badge tone={write.type === 'DELETED' ? 'bad' : write.type === 'ADDED' ? 'good' : 'info'}>{WORDS[write.type] ?? write.type}</Badge>
        <a href={href(toObject(write.kind, metadata.namespace, metadata.name, 'history'))}>
          {write.kind.kind} {metadata.name}
        </a>
        <span class="muted">
          by {write.manager || 'unknown'} {write.time && <span title={clock(write.time)}>{age(write.time, now.value)} ago</span>}
        </span>
      </div>
      <div class="columns-2">
        <Diff
          key={write.revision}
          label="Changes of this write"
          before={before && forPeople(before.object, { isStable: true })}
          after={write.type === 'DELETED' ? undefined : forPeople(write.object, { isStable: true })}
        />
        <ListThen key={write.revision} kinds={kinds} namespace={namespace} revision={write.revision} changed={metadata.uid ?? ''} />
      </div>
    </div>
  )
}

const WORDS: Readonly<Record<string, string>> = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' }
const MAX_KINDS_AT_ONCE = 40
const MAX_SHOWN = 300

/** The list at a revision. */
function ListThen({
  kinds,
  namespace,
  revision,
  changed,
}: {
  kinds: readonly Kind[]
  namespace: string
  revision: string
  changed: string
}) {
  const { value, error } = useAsync(
    async abort =>
      (
        await Promise.all(
          kinds.slice(0, MAX_KINDS_AT_ONCE).map(kind =>
            listAt(kind, namespace, revision, abort).then(
              items => items.map(object => ({ kind, object })),
              failure => (kinds.length === 1 ? Promise.reject(failure) : []),
            ),
          ),
        )
      ).flat(),
    [revision],
  )
  const [isBehind, setBehind] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setBehind(true), 300)
    return () => clearTimeout(timer)
  }, [])
  const pods = findKind('', 'pods')
  return (
    <Card title={`As it was at ${revision}`} side={value && <span class="muted">{value.length} objects</span>} isFlush>
      {error ? <p class="card-body bad">{messageOf(error)}</p> : null}
      {!value && !error && isBehind && (
        <p class="card-body">
          <Spinner />
        </p>
      )}
      {value && (
        <div class="scroll-list">
          <table class="table">
            <tbody>
              {value.slice(0, MAX_SHOWN).map(({ kind, object }) => {
                const health = kind === pods || kinds.length === 1 ? healthOf(object) : undefined
                return (
                  <tr key={object.metadata.uid} data-changed={object.metadata.uid === changed}>
                    {kinds.length > 1 && <td class="muted">{kind.kind}</td>}
                    <td>
                      <a href={href(toObject(kind, object.metadata.namespace, object.metadata.name, 'history'))}>{object.metadata.name}</a>
                    </td>
                    <td class="muted">{object.metadata.namespace}</td>
                    <td>{health?.text && <Badge tone={health.tone}>{health.text}</Badge>}</td>
                  </tr>
                )
              })}
            </tbody>
          </table>
          {value.length > MAX_SHOWN && <p class="card-body muted">and {value.length - MAX_SHOWN} more</p>}
        </div>
      )}
    </Card>
  )
}
