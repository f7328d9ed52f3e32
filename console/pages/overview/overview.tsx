/** The overview: counts of objects, the health of the server, and trouble. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { may } from '../../core/access.ts'
import { getText } from '../../core/api.ts'
import { findKind, type Kind, kindOf, listable, qualifiedName } from '../../core/discovery.ts'
import { millis } from '../../core/duration.ts'
import { healthOf } from '../../core/health.ts'
import { type LiveList, liveList } from '../../core/live.ts'
import { namespace, namespaces } from '../../core/namespace.ts'
import type { KubeObject } from '../../core/object.ts'
import { href, toList, toObject } from '../../core/router.ts'
import { Age, Badge, Card, Empty, Notice, Spinner, useAsync } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { iconOf, pluralTitle } from '../../parts/frame.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Plot } from '../../parts/plot.tsx'
import { timeOf } from '../object/events.tsx'
import { liveLoad } from './load.ts'
import { findTrouble, type Trouble } from './trouble.ts'

const LOOK_AGAIN_MS = 8_000

export default function OverviewPage() {
  useCrumbs([{ text: 'Overview' }])
  const mayReadMetrics = may({ verb: 'get', path: '/metrics' }).value
  const live = useMemo(() => (mayReadMetrics ? liveLoad() : undefined), [mayReadMetrics])
  useEffect(() => () => live?.close(), [live])
  const load = live?.load.value
  const counts = live?.counts.value
  return (
    <div class="page stack stack-wide">
      <div class="page-head">
        <div>
          <h1>Overview</h1>
          <p class="muted">{namespace.value === '' ? 'All namespaces' : `Namespace ${namespace.value}`}</p>
        </div>
        <Health />
      </div>
      <Numbers counts={counts} />
      <div class="overview-main">
        <TroubleCard />
        <WarningsCard />
      </div>
      {load && load.times.length > 1 && (
        <div class="columns-2">
          <Card>
            <Plot
              title="Requests per second"
              times={load.times}
              format={value => (value < 10 ? value.toFixed(1) : value.toFixed(0))}
              series={[
                { title: 'all', colour: '--accent-fill', values: load.rate },
                { title: 'errors (5xx)', colour: '--bad-fill', values: load.errors },
              ]}
            />
          </Card>
          <Card>
            <Plot
              title="Time of requests"
              times={load.times}
              format={value => millis(value)}
              series={[
                { title: 'median', colour: '--good-fill', values: load.median },
                { title: '99 %', colour: '--warn-fill', values: load.slow },
              ]}
            />
          </Card>
        </div>
      )}
      {counts && <KindsInUse counts={counts} />}
    </div>
  )
}

function Health() {
  const { value, error, reload } = useAsync(async signal => {
    const text = await getText('/readyz?verbose', { signal }).catch(failure =>
      failure?.code === 500 ? String(failure.message) : Promise.reject(failure),
    )
    return [...text.matchAll(/\[([+-])\](\S+)/g)].map(([, sign, name]) => ({ name: name!, isWell: sign === '+' }))
  }, [])
  useEffect(() => {
    const timer = setInterval(reload, LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  })
  if (error) return null
  if (!value) return <Spinner label="Checking" />
  const failing = value.filter(({ isWell }) => !isWell)
  return (
    <details class="menu-anchor column-menu">
      <summary class="button">
        <span class={`dot ${failing.length === 0 ? 'dot-good' : 'dot-bad'}`} aria-hidden="true" />
        {failing.length === 0 ? `Server is well, ${value.length} checks` : `${failing.length} checks fail`}
      </summary>
      <ul class="menu health-list">
        {value.map(({ name, isWell }) => (
          <li key={name} class="menu-item">
            <span class={`dot ${isWell ? 'dot-good' : 'dot-bad'}`} aria-hidden="true" />
            <span class="grow">{name}</span>
            <span class="faint small">{isWell ? 'ok' : 'fails'}</span>
          </li>
        ))}
      </ul>
    </details>
  )
}

function useLiveObjects(kind: Kind | undefined, fields = ''): { objects: readonly KubeObject[]; state: string } {
  const [live, setLive] = useState<LiveList | undefined>(undefined)
  const path = kind
    ? kind.namespaced && namespace.value
      ? `/api/v1/namespaces/${namespace.value}/${kind.plural}`
      : `/api/v1/${kind.plural}`
    : ''
  useEffect(() => {
    if (path === '') return
    const opened = liveList({ path, fields })
    setLive(opened)
    return () => opened.close()
  }, [path, fields])
  const rows = live?.rows.value
  return { objects: useMemo(() => (rows ?? []).flatMap(({ object }) => object ?? []), [rows]), state: live?.state.value.phase ?? 'loading' }
}

function Numbers({ counts }: { counts: ReadonlyMap<string, number> | undefined }) {
  const nodeKind = findKind('', 'nodes')
  const podKind = findKind('', 'pods')
  const { objects: nodes, state: nodeState } = useLiveObjects(nodeKind)
  const { objects: pods, state: podState } = useLiveObjects(podKind)
  const ready = nodes.filter(node => healthOf(node).tone === 'good').length
  const tones = { good: 0, warn: 0, bad: 0, info: 0, plain: 0 }
  for (const pod of pods) tones[healthOf(pod).tone]++
  const inUse = counts && [...counts.values()].filter(count => count > 0).length
  const objects = counts && [...counts.values()].reduce((all, count) => all + Math.max(0, count), 0)
  return (
    <div class="numbers">
      {nodeKind && nodeState !== 'failed' && (
        <a class="number card" href={href('/nodes')}>
          <span class="muted">Nodes</span>
          <b>{nodes.length}</b>
          <span class={ready < nodes.length ? 'warn small' : 'muted small'}>{ready} ready</span>
        </a>
      )}
      {podKind && podState !== 'failed' && (
        <a class="number card" href={href(toList(podKind))}>
          <span class="muted">Pods</span>
          <b>{pods.length}</b>
          <span class="small row">
            <span class="muted">{tones.good} well</span>
            {tones.warn > 0 && <span class="warn">{tones.warn} waiting</span>}
            {tones.bad > 0 && <span class="bad">{tones.bad} failing</span>}
          </span>
        </a>
      )}
      {namespaces.value.length > 0 && (
        <a class="number card" href={href('/list/core/v1/namespaces')}>
          <span class="muted">Namespaces</span>
          <b>{namespaces.value.length}</b>
          <span class="muted small">{namespace.value || 'all shown'}</span>
        </a>
      )}
      {counts && (
        <div class="number card">
          <span class="muted">Objects</span>
          <b>{objects?.toLocaleString()}</b>
          <span class="muted small">of {inUse} kinds</span>
        </div>
      )}
    </div>
  )
}

function TroubleCard() {
  const { value, error, reload } = useAsync(signal => findTrouble(namespace.value, signal), [namespace.value])
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  })
  return (
    <Card title="Not well" side={value && value.length > 0 && <Badge tone="bad">{value.length}</Badge>} isFlush>
      {error ? <p class="card-body bad">{String(error)}</p> : null}
      {!value && !error && (
        <p class="card-body">
          <Spinner label="Looking" />
        </p>
      )}
      {value?.length === 0 && (
        <Empty icon="check" title="All is well">
          <p>No pod fails or waits for a node, no deletion is stuck, no webhook fails.</p>
        </Empty>
      )}
      {value && value.length > 0 && (
        <ul class="trouble-list">
          {value.slice(0, 30).map(trouble => (
            <TroubleRow key={trouble.key} trouble={trouble} />
          ))}
        </ul>
      )}
    </Card>
  )
}

function TroubleRow({ trouble: { tone, title, detail, kind, object, since } }: { trouble: Trouble }) {
  return (
    <li class="trouble">
      <span class={`dot dot-${tone}`} aria-hidden="true" />
      <div class="grow">
        <div class="row row-wrap">
          {kind && object && (
            <a class="strong" href={href(toObject(kind, object.metadata.namespace, object.metadata.name))}>
              {object.metadata.name}
            </a>
          )}
          {kind && <span class="muted">{kind.kind}</span>}
          <span class={tone}>{title}</span>
        </div>
        {detail && <div class="muted small wrap-anywhere">{detail}</div>}
      </div>
      <span class="muted small">
        <Age time={since || undefined} />
      </span>
    </li>
  )
}

function WarningsCard() {
  const { objects, state } = useLiveObjects(findKind('', 'events'), 'type=Warning')
  const sorted = [...objects].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)).slice(0, 30)
  return (
    <Card
      title="Warnings"
      side={<a href={href(toList({ group: '', version: 'v1', plural: 'events' }, { fields: 'type=Warning' }))}>All events</a>}
      isFlush
    >
      {state === 'failed' && <p class="card-body muted">You may not list events here.</p>}
      {state !== 'failed' && sorted.length === 0 && <p class="card-body muted">No warnings among the events that are kept.</p>}
      <ul class="trouble-list">
        {sorted.map(event => {
          const about = event['involvedObject'] ?? {}
          const kind = kindOf(about.apiVersion ?? 'v1', about.kind ?? '')
          return (
            <li key={event.metadata.uid} class="trouble">
              <span class="dot dot-warn" aria-hidden="true" />
              <div class="grow">
                <div class="row row-wrap">
                  {kind ? (
                    <a class="strong" href={href(toObject(kind, about.namespace, about.name))}>
                      {about.name}
                    </a>
                  ) : (
                    <b>{about.name}</b>
                  )}
                  <span class="warn">{event['reason']}</span>
                  {(event['count'] ?? 1) > 1 && <span class="faint small">×{event['count']}</span>}
                </div>
                <div class="muted small wrap-anywhere">{event['message']}</div>
              </div>
              <span class="muted small">
                <Age time={timeOf(event)} />
              </span>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}

function KindsInUse({ counts }: { counts: ReadonlyMap<string, number> }) {
  const used = listable.value.map(kind => ({ kind, count: counts.get(qualifiedName(kind)) ?? 0 })).filter(({ count }) => count > 0)
  if (used.length === 0) return <Notice tone="info" title="No objects yet" />
  return (
    <Card title="Kinds in use" side={<span class="muted small">in all namespaces</span>}>
      <ul class="kinds-in-use">
        {used
          .sort((a, b) => b.count - a.count)
          .map(({ kind, count }) => (
            <li key={qualifiedName(kind)}>
              <a class="kind-count" href={href(toList(kind))} title={qualifiedName(kind)}>
                <Icon name={iconOf(kind)} size={14} />
                <span class="cut grow">{pluralTitle(kind)}</span>
                <b>{count.toLocaleString()}</b>
              </a>
            </li>
          ))}
      </ul>
    </Card>
  )
}
