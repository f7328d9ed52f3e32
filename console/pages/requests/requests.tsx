/** Requests of all clients as they are answered, with the time of their phases; and the watches that are open. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { get, isForbidden, isNotFound, lines, messageOf, send } from '../../core/api.ts'
import { millis } from '../../core/duration.ts'
import { query, setQuery } from '../../core/router.ts'
import { age, clock, now } from '../../core/time.ts'
import { Badge, Card, CopyButton, Empty, Notice, Problem, Segments, Spinner, useAsync } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { Grid, type GridColumn } from '../../parts/grid.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Bodies, useBodyRecording } from './bodies.tsx'
import { curlOf, kubectlOf } from './commands.ts'

type Resource = { group: string; version: string; resource: string; subresource: string; namespace: string; name: string }
type Logged = {
  number: number
  auditID: string
  time: string
  user: string
  groups: string[]
  impersonator?: string
  userAgent: string
  source: string
  method: string
  verb: string
  path: string
  query?: string
  resource?: Resource
  status: number
  ms: number
  phases: Record<string, number>
  requestBytes?: number
  responseBytes?: number
  isLongRunning?: true
  hasBodies?: true
}

const PATH = '/keelson/v1/requests'
const MAX_KEPT = 5000

type View = 'requests' | 'watches'

/** The columns that requests and watches have in common. */
const CLIENT_COLUMNS: GridColumn<{ user: string; userAgent: string }>[] = [
  {
    id: 'user',
    title: 'User',
    width: 'minmax(8rem, 1fr)',
    cell: ({ user }) => (
      <span class="cut" title={user}>
        {user}
      </span>
    ),
  },
  {
    id: 'agent',
    title: 'Agent',
    width: 'minmax(6rem, 0.7fr)',
    cell: ({ userAgent }) => (
      <span class="cut muted" title={userAgent}>
        {userAgent.split(' ')[0]}
      </span>
    ),
  },
]

export default function RequestsPage() {
  useCrumbs([{ text: 'Requests' }])
  const view: View = query.value.get('view') === 'watches' ? 'watches' : 'requests'
  return (
    <div class="page page-fill">
      <div class="page-head list-head">
        <div class="row row-wrap">
          <h1>Requests</h1>
          <Segments<View>
            label="View"
            value={view}
            options={[
              ['requests', 'Requests'],
              ['watches', 'Open watches'],
            ]}
            onChange={next => setQuery({ view: next === 'requests' ? undefined : next })}
          />
        </div>
      </div>
      {view === 'requests' ? <Live /> : <Watches />}
    </div>
  )
}

function useRequests(isPaused: boolean): { requests: readonly Logged[]; error: unknown; missed: number } {
  const [requests, setRequests] = useState<readonly Logged[]>([])
  const [error, setError] = useState<unknown>(undefined)
  const [missed, setMissed] = useState(0)
  useEffect(() => {
    if (isPaused) return
    const abort = new AbortController()
    let waiting: Logged[] = []
    let frame = 0
    const show = () => {
      frame = 0
      const fresh = waiting
      waiting = []
      setRequests(was => [...was, ...fresh].slice(-MAX_KEPT))
    }
    const follow = async () => {
      // The watch comes first: requests between a list and a watch would be missed.
      const response = await send(`${PATH}?watch=1`, { signal: abort.signal })
      const { requests: known } = await get<{ requests: Logged[] }>(PATH, { signal: abort.signal })
      const seen = new Set(known.map(idOf))
      setRequests(known)
      setError(undefined)
      for await (const texts of lines(response)) {
        for (const text of texts) {
          if (text === '') continue
          const line = JSON.parse(text) as Logged & { missed?: number }
          if (line.missed) setMissed(count => count + line.missed!)
          else if (!seen.has(idOf(line))) waiting.push(line)
        }
        if (frame === 0) frame = requestAnimationFrame(show)
      }
    }
    let timer: ReturnType<typeof setTimeout> | undefined
    const run = () =>
      follow()
        .catch(failure => {
          if (!abort.signal.aborted) setError(failure)
          if (isForbidden(failure) || isNotFound(failure)) abort.abort()
        })
        .then(() => {
          if (!abort.signal.aborted) timer = setTimeout(run, 1000)
        })
    void run()
    return () => {
      abort.abort()
      clearTimeout(timer)
      cancelAnimationFrame(frame)
    }
  }, [isPaused])
  return { requests, error, missed }
}

const idOf = ({ auditID, number }: Logged): string => `${auditID}${number}`

const nameOf = ({ resource, path }: Logged): string =>
  resource
    ? `${resource.resource}${resource.group ? `.${resource.group}` : ''}${resource.subresource ? `/${resource.subresource}` : ''}`
    : path

const placeOf = ({ resource }: Logged): string => (resource ? [resource.namespace, resource.name].filter(Boolean).join('/') : '')

const tone = (status: number) => (status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good')

function Live() {
  const [isPaused, setPaused] = useState(false)
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState<string | undefined>(undefined)
  const { requests, error, missed } = useRequests(isPaused)
  const bodies = useBodyRecording()
  const shown = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean)
    const fits = (one: Logged) => {
      const all =
        `${one.user} ${one.userAgent} ${one.verb} ${nameOf(one)} ${placeOf(one)} ${one.status} ${one.status >= 400 ? 'error' : ''}`.toLowerCase()
      return words.every(word => all.includes(word))
    }
    return requests.filter(fits).reverse()
  }, [requests, text])
  const slowest = Math.max(
    1,
    ...shown
      .slice(0, 200)
      .filter(({ isLongRunning }) => !isLongRunning)
      .map(({ ms }) => ms),
  )
  if (error && requests.length === 0) return <Problem error={error} subject="requests" />
  const columns: GridColumn<Logged>[] = [
    {
      id: 'time',
      title: 'Time',
      width: '6.5rem',
      cell: ({ time }) => <span class="muted nowrap">{new Date(time).toLocaleTimeString()}</span>,
    },
    {
      id: 'status',
      title: 'Status',
      width: '4.5rem',
      cell: ({ status }) => (
        <span class={`row ${tone(status) === 'good' ? '' : tone(status)}`}>
          <span class={`dot dot-${tone(status)}`} aria-hidden="true" />
          {status}
        </span>
      ),
    },
    { id: 'verb', title: 'Verb', width: '5rem', cell: ({ verb }) => verb },
    {
      id: 'what',
      title: 'Resource',
      width: 'minmax(8rem, 1fr)',
      cell: one => (
        <span class="cut" title={one.path}>
          {nameOf(one)}
        </span>
      ),
    },
    { id: 'place', title: 'Object', width: 'minmax(7rem, 1fr)', cell: one => <span class="cut muted">{placeOf(one)}</span> },
    ...CLIENT_COLUMNS,
    { id: 'ms', title: 'Duration', width: '9rem', cell: one => <Phases request={one} slowest={slowest} /> },
  ]
  const details = requests.find(request => idOf(request) === chosen)
  return (
    <>
      <div class="toolbar">
        <div class="combo-box grow">
          <Icon name="filter" size={14} />
          <input
            class="input"
            type="search"
            aria-label="Filter requests"
            placeholder="Filter: user, agent, verb, resource, status, error"
            value={text}
            onInput={event => setText(event.currentTarget.value)}
          />
        </div>
        <button type="button" class="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          <Icon name={isPaused ? 'play' : 'pause'} /> {isPaused ? 'Go on' : 'Pause'}
        </button>
        {bodies.isAllowed && (
          <button
            type="button"
            class="button"
            aria-pressed={bodies.isOn}
            title="Record bodies of requests from now on. Secrets and tokens are never recorded."
            onClick={bodies.toggle}
          >
            <Icon name="file" /> {bodies.isOn ? 'Recording bodies' : 'Record bodies'}
          </button>
        )}
        <span class="muted small toolbar-note" role="status">
          {shown.length} requests{missed > 0 ? `, ${missed} missed` : ''}
        </span>
      </div>
      {details && <Details request={details} onClose={() => setChosen(undefined)} />}
      <Grid<Logged>
        label="Requests"
        rows={shown}
        columns={columns}
        keyOf={idOf}
        onOpen={request => setChosen(idOf(request))}
        opensAtOnce
        empty={
          requests.length > 0 ? (
            <Empty icon="filter" title="Nothing fits the filter" />
          ) : (
            <Empty icon="network" title="No requests yet">
              <p>Requests are recorded while somebody looks at this page.</p>
            </Empty>
          )
        }
      />
    </>
  )
}

const PHASES = ['queue', 'authn', 'authz', 'decode', 'rules', 'admission', 'store', 'encode']

/** The time of a request, split by phase. */
function Phases({ request: { phases, ms, isLongRunning }, slowest }: { request: Logged; slowest: number }) {
  const title = Object.entries(phases)
    .map(([name, time]) => `${name} ${millis(time)}`)
    .join(', ')
  return (
    <span class="row grow" title={title}>
      <span class="phases" aria-hidden="true">
        {!isLongRunning &&
          Object.entries(phases).map(([name, time]) => (
            <span
              key={name}
              class={`phase writer-${Math.max(0, PHASES.indexOf(name))}`}
              style={{ width: `${Math.min(100, (100 * time) / slowest)}%` }}
            />
          ))}
      </span>
      <span class="small nowrap">{isLongRunning ? 'open' : millis(ms)}</span>
    </span>
  )
}

function Details({ request, onClose }: { request: Logged; onClose(): void }) {
  return (
    <Card
      title={
        <span class="row">
          <Badge tone={tone(request.status)}>{request.status}</Badge> {request.verb} {nameOf(request)} {placeOf(request)}
        </span>
      }
      side={
        <button type="button" class="button button-small" onClick={onClose}>
          Close
        </button>
      }
    >
      <div class="columns-2">
        <dl class="facts">
          <dt>User</dt>
          <dd>
            {request.user} {request.impersonator && <span class="muted">(impersonated by {request.impersonator})</span>}
          </dd>
          <dt>Groups</dt>
          <dd>{request.groups.join(', ')}</dd>
          <dt>Agent</dt>
          <dd>{request.userAgent}</dd>
          <dt>From</dt>
          <dd>{request.source}</dd>
          <dt>Time</dt>
          <dd>{clock(request.time)}</dd>
          <dt>Path</dt>
          <dd class="mono">
            {request.path}
            {request.query ? `?${request.query}` : ''}
          </dd>
          <dt>Bytes</dt>
          <dd>
            {request.requestBytes ?? 0} in, {request.responseBytes ?? 'streamed'} out
          </dd>
        </dl>
        <div class="stack">
          <dl class="facts">
            {Object.entries(request.phases).map(([name, time]) => (
              <>
                <dt key={`t${name}`} class="row">
                  <span class={`dot writer-${Math.max(0, PHASES.indexOf(name))}`} aria-hidden="true" />
                  {name}
                </dt>
                <dd key={name}>{millis(time)}</dd>
              </>
            ))}
          </dl>
          {request.phases && Object.keys(request.phases).length === 0 && <p class="muted">The phases of this request were not measured.</p>}
          {[kubectlOf(request), curlOf(request, location.origin)].map(command => (
            <div class="row" key={command}>
              <code class="chip grow">{command}</code>
              <CopyButton text={command} label={`Copy as ${command.split(' ')[0]}`} />
            </div>
          ))}
        </div>
      </div>
      {request.hasBodies && <Bodies key={idOf(request)} number={request.number} auditID={request.auditID} />}
    </Card>
  )
}

type Open = {
  auditID: string
  user: string
  userAgent: string
  path: string
  resource?: Resource
  namespace: string
  labelSelector?: string
  fieldSelector?: string
  since: string
  events: number
  bytes: number
  unsentBytes: number
}

const LOOK_AGAIN_MS = 2_000

function Watches() {
  const { value, error, reload } = useAsync(signal => get<{ watches: Open[] }>('/keelson/v1/watches', { signal }), [])
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  })
  if (error) return isForbidden(error) ? <Problem error={error} subject="open watches" /> : <Notice tone="bad" title={messageOf(error)} />
  if (!value) return <Spinner />
  const columns: GridColumn<Open>[] = [
    {
      id: 'what',
      title: 'Watches',
      width: 'minmax(11rem, 1fr)',
      cell: ({ resource, path, namespace }) => (
        <span class="cut" title={path}>
          {resource ? `${resource.resource}${resource.group ? `.${resource.group}` : ''}` : path} <span class="muted">{namespace}</span>
        </span>
      ),
    },
    {
      id: 'selector',
      title: 'Selector',
      width: 'minmax(8rem, 0.8fr)',
      cell: ({ labelSelector, fieldSelector }) => (
        <span class="cut mono muted">{[labelSelector, fieldSelector].filter(Boolean).join(' ')}</span>
      ),
    },
    ...CLIENT_COLUMNS,
    { id: 'since', title: 'Open for', width: '6rem', cell: ({ since }) => age(since, now.value) },
    { id: 'events', title: 'Events', width: '5rem', cell: ({ events }) => events.toLocaleString() },
    { id: 'bytes', title: 'Sent', width: '6rem', cell: ({ bytes }) => `${Math.round(bytes / 1024).toLocaleString()} KiB` },
    {
      id: 'lag',
      title: 'Behind',
      width: '7rem',
      cell: ({ unsentBytes }) =>
        unsentBytes > 0 ? <span class="warn">{Math.ceil(unsentBytes / 1024)} KiB</span> : <span class="good">no</span>,
    },
  ]
  return (
    <Grid<Open>
      label="Open watches"
      rows={value.watches}
      columns={columns}
      keyOf={({ auditID }) => auditID}
      empty={<Empty icon="network" title="No watches are open" />}
    />
  )
}
