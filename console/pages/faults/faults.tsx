/** Faults of a server that was started with fault injection, with their hits; and its clock and state, where it lets clients set them. */
import { useEffect, useState } from 'preact/hooks'
import { get, isNotFound, messageOf, send } from '../../core/api.ts'
import { toast } from '../../core/toasts.ts'
import { Badge, Card, Empty, Notice, Problem, Spinner, useAsync } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { Icon } from '../../parts/icons.tsx'
import { change } from './change.ts'
import { StateCards } from './state-cards.tsx'

type Report = { id: string; fault: Record<string, unknown>; seen: number; hits: number }

/** Where the server has faults: with fault injection, or with the endpoints for tests. */
const PATHS = ['/keelson/faults', '/keelson/v1/faults']
const LOOK_AGAIN_MS = 2_000

type Found = { path: string; faults: readonly Report[] }

async function readFaults(signal: AbortSignal): Promise<Found> {
  for (const path of PATHS)
    try {
      const { faults } = await get<{ faults: Report[] }>(path, { signal })
      return { path, faults }
    } catch (error) {
      if (!isNotFound(error) || path === PATHS.at(-1)) throw error
    }
  throw new Error('no path')
}

export default function FaultsPage() {
  useCrumbs([{ text: 'Faults and clock' }])
  const { value, error, reload } = useAsync(readFaults, [])
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  })
  const isOff = isNotFound(error)
  if (error && !isOff && !value) return <Problem error={error} subject="faults" />
  return (
    <div class="page stack stack-wide">
      <div>
        <h1>Faults and clock</h1>
        <p class="muted">Failures that happen in production and never on a laptop, on purpose.</p>
      </div>
      {isOff && (
        <Empty icon="bolt" title="Faults are off">
          <p>
            Start the server with <code>--enable-fault-injection</code> to add faults here, or with <code>--test-endpoints</code> for
            faults, the clock and snapshots.
          </p>
        </Empty>
      )}
      {!value && !error && <Spinner />}
      {value && (
        <div class="columns-2">
          <Card
            title="Faults"
            side={
              value.faults.length > 0 && (
                <button
                  type="button"
                  class="button button-small button-danger"
                  onClick={() => void change('Removed all faults', value.path, 'DELETE').then(reload)}
                >
                  Remove all
                </button>
              )
            }
            isFlush
          >
            {value.faults.length === 0 && <p class="card-body muted">No faults: all requests are served as they come.</p>}
            <ul class="trouble-list">
              {value.faults.map(({ id, fault, seen, hits }) => (
                <li class="trouble" key={id}>
                  <div class="grow">
                    <b>{effectOf(fault)}</b>
                    <div class="muted small wrap-anywhere">{targetOf(fault)}</div>
                  </div>
                  <Badge tone={hits > 0 ? 'bad' : 'plain'} title="Requests struck, of requests selected">
                    {hits} hits of {seen}
                  </Badge>
                  <button
                    type="button"
                    class="button button-small button-icon"
                    aria-label={`Remove fault ${id}`}
                    onClick={() => void change('Removed the fault', `${value.path}/${id}`, 'DELETE').then(reload)}
                  >
                    <Icon name="trash" size={14} />
                  </button>
                </li>
              ))}
            </ul>
          </Card>
          <AddFault path={value.path} onAdded={reload} />
        </div>
      )}
      <StateCards />
    </div>
  )
}

const SELECTORS = ['verb', 'resource', 'kind', 'subresource', 'namespace', 'name', 'user', 'probability', 'times', 'skip']

function effectOf(fault: Record<string, unknown>): string {
  return Object.entries(fault)
    .filter(([name]) => !SELECTORS.includes(name))
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ')
}

function targetOf(fault: Record<string, unknown>): string {
  const text = SELECTORS.filter(name => fault[name] !== undefined)
    .map(name => `${name} ${fault[name]}`)
    .join(', ')
  return text === '' ? 'every request' : text
}

const EFFECTS = {
  'status 500': { status: 500 },
  'status 409 (conflict)': { status: 409 },
  'status 429 (too many requests)': { status: 429 },
  'status 503 (unavailable)': { status: 503 },
  'delay 1 s': { delayMs: 1000 },
  'delay 10 s': { delayMs: 10_000 },
  'cut the connection': { disconnect: true },
  'lose the answer': { loseAnswer: true },
  'stale reads (10 revisions)': { staleBy: 10 },
  'drop watch events': { events: 'drop' },
  'end watches with 410': { events: 'gone' },
  'restart before': { restart: 'before' },
} as const

function AddFault({ path, onAdded }: { path: string; onAdded(): void }) {
  const [effect, setEffect] = useState<keyof typeof EFFECTS>('status 500')
  const [fields, setFields] = useState<Record<string, string>>({
    verb: 'update',
    resource: '',
    namespace: '',
    user: '',
    probability: '',
    times: '',
  })
  const [error, setError] = useState('')
  const add = async () => {
    setError('')
    const given = Object.entries(fields).filter(([, value]) => value.trim() !== '')
    const body = {
      ...EFFECTS[effect],
      ...Object.fromEntries(given.map(([name, value]) => [name, ['probability', 'times'].includes(name) ? Number(value) : value.trim()])),
    }
    try {
      await send(path, { method: 'POST', body })
      toast('Added the fault')
      onAdded()
    } catch (failure) {
      setError(messageOf(failure))
    }
  }
  return (
    <Card title="Add a fault">
      <form
        class="stack"
        onSubmit={event => {
          event.preventDefault()
          void add()
        }}
      >
        <label class="field">
          <span>Effect</span>
          <select class="input" value={effect} onChange={event => setEffect(event.currentTarget.value as keyof typeof EFFECTS)}>
            {Object.keys(EFFECTS).map(one => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <div class="field-grid">
          {Object.entries(fields).map(([name, value]) => (
            <label class="field" key={name}>
              <span>{name}</span>
              <input
                class="input"
                value={value}
                placeholder={name === 'probability' ? '1' : 'any'}
                spellcheck={false}
                onInput={event => setFields({ ...fields, [name]: event.currentTarget.value })}
              />
            </label>
          ))}
        </div>
        {error !== '' && <Notice tone="bad" title={error} />}
        <button type="submit" class="button button-primary">
          <Icon name="bolt" /> Add
        </button>
      </form>
    </Card>
  )
}
