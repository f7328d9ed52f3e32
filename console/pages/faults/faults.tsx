/** Faults of a server that was started with fault injection, with their hits; and its clock and state, where it lets clients set them. */
import { useEffect, useState } from 'preact/hooks'
import { may } from '../../core/access.ts'
import { get, isNotFound, messageOf, send } from '../../core/api.ts'
import { clock as timeText } from '../../core/time.ts'
import { toast, toastError } from '../../core/toasts.ts'
import { Badge, Card, Empty, Notice, Problem, Spinner, useAsync } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { confirm } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icons.tsx'

type Report = { id: string; fault: Record<string, unknown>; seen: number; hits: number }

const PATH = '/keelson/faults'
const LOOK_AGAIN_MS = 2_000

export default function FaultsPage() {
  useCrumbs([{ text: 'Faults and clock' }])
  const { value, error, reload } = useAsync(signal => get<{ seed: number; faults: Report[] }>(PATH, { signal }), [])
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
            Start the server with <code>--enable-fault-injection</code> to add faults here.
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
                  onClick={() => void change('Removed all faults', PATH, 'DELETE').then(reload)}
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
                    onClick={() => void change('Removed the fault', `${PATH}/${id}`, 'DELETE').then(reload)}
                  >
                    <Icon name="trash" size={14} />
                  </button>
                </li>
              ))}
            </ul>
          </Card>
          <AddFault onAdded={reload} />
        </div>
      )}
      <ClockCard />
    </div>
  )
}

async function change(done: string, path: string, method: string, body?: unknown): Promise<boolean> {
  try {
    await send(path, { method, ...(body === undefined ? {} : { body }) })
    toast(done)
    return true
  } catch (error) {
    toastError('Not done', error)
    return false
  }
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

function AddFault({ onAdded }: { onAdded(): void }) {
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
      await send(PATH, { method: 'POST', body })
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

type ServerClock = { time: string; frozen: boolean }

/** Shown where the server has the endpoints of tests. */
function ClockCard() {
  const { value, reload } = useAsync(signal => get<ServerClock>('/keelson/v1/clock', { signal }), [])
  const mayReset = may({ verb: 'post', path: '/keelson/v1/reset' }).value
  if (!value) return null
  const set = (done: string, body: object) => void change(done, '/keelson/v1/clock', 'POST', body).then(reload)
  return (
    <Card title="Clock and state">
      <div class="row row-wrap">
        <b>{timeText(value.time)}</b>
        {value.frozen && <Badge tone="info">frozen</Badge>}
        {['1m', '1h', '24h'].map(step => (
          <button type="button" class="button" key={step} onClick={() => set(`Advanced by ${step}`, { advance: step })}>
            Advance {step}
          </button>
        ))}
        <button
          type="button"
          class="button"
          onClick={() => set(value.frozen ? 'The clock goes on' : 'The clock stands still', { frozen: !value.frozen })}
        >
          {value.frozen ? 'Let it go on' : 'Freeze'}
        </button>
        {mayReset && (
          <button
            type="button"
            class="button button-danger"
            onClick={() =>
              void confirm({
                title: 'Reset the server?',
                body: <p>Its state becomes that after its start. Everything that was written since is gone.</p>,
                action: 'Reset',
                isDangerous: true,
                run: () => send('/keelson/v1/reset', { method: 'POST' }),
              }).then(isDone => isDone && location.reload())
            }
          >
            Reset
          </button>
        )}
      </div>
    </Card>
  )
}
