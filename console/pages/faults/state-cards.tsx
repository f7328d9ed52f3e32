/** Clock, reset and snapshots of a server that has the endpoints for tests. */
import { useEffect, useState } from 'preact/hooks'
import { get, send } from '../../core/api.ts'
import { followServer, clock as timeText } from '../../core/time.ts'
import { Age, Badge, Card, useAsync } from '../../parts/basics.tsx'
import { confirm } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icons.tsx'
import { change } from './change.ts'

const V1 = '/keelson/v1'
const TICK_MS = 1_000

type ServerClock = { time: string; frozen: boolean }
type Snapshot = { name: string; revision: string; objects: number; bytes: number; created: string }

export function StateCards() {
  const clock = useAsync(signal => get<ServerClock>(`${V1}/clock`, { signal }), [])
  const snapshots = useAsync(signal => get<{ snapshots: Snapshot[] }>(`${V1}/snapshots`, { signal }), [])
  const reload = () => {
    clock.reload()
    snapshots.reload()
  }
  if (!clock.value || !snapshots.value) return null
  return (
    <div class="columns-2">
      <ClockCard clock={clock.value} reload={reload} />
      <SnapshotsCard snapshots={snapshots.value.snapshots} reload={reload} />
    </div>
  )
}

function ClockCard({ clock: { time, frozen }, reload }: { clock: ServerClock; reload(): void }) {
  const [step, setStep] = useState('10m')
  const [passed, setPassed] = useState(0)
  // Ages on every page are those of the server.
  useEffect(() => {
    followServer(time)
    setPassed(0)
    if (frozen) return
    const begun = Date.now()
    const timer = setInterval(() => setPassed(Date.now() - begun), TICK_MS)
    return () => clearInterval(timer)
  }, [time, frozen])
  const set = (done: string, body: object) => void change(done, `${V1}/clock`, 'POST', body).then(reload)
  return (
    <Card title="Clock" side={frozen && <Badge tone="info">frozen</Badge>}>
      <div class="stack">
        <b role="timer">{timeText(Date.parse(time) + passed)}</b>
        <form
          class="row row-wrap"
          onSubmit={event => {
            event.preventDefault()
            set(`Advanced by ${step}`, { advance: step })
          }}
        >
          <input
            class="input grow"
            aria-label="Advance by"
            value={step}
            spellcheck={false}
            onInput={event => setStep(event.currentTarget.value)}
          />
          <button type="submit" class="button">
            Advance
          </button>
          <button
            type="button"
            class="button"
            onClick={() => set(frozen ? 'The clock goes on' : 'The clock stands still', { frozen: !frozen })}
          >
            <Icon name={frozen ? 'play' : 'pause'} /> {frozen ? 'Let it go on' : 'Freeze'}
          </button>
        </form>
        <p class="faint small">Timers on the way fire in order and at their time: leases expire, jobs run, tokens end.</p>
      </div>
    </Card>
  )
}

function SnapshotsCard({ snapshots, reload }: { snapshots: readonly Snapshot[]; reload(): void }) {
  const [name, setName] = useState('')
  const take = () =>
    void change('Took the snapshot', `${V1}/snapshots`, 'POST', name.trim() === '' ? {} : { name: name.trim() }).then(isDone => {
      if (isDone) setName('')
      reload()
    })
  return (
    <Card
      title="State"
      side={
        <button type="button" class="button button-small button-danger" onClick={() => void reset().then(isDone => isDone && reload())}>
          Reset
        </button>
      }
    >
      <div class="stack">
        <form
          class="row row-wrap"
          onSubmit={event => {
            event.preventDefault()
            take()
          }}
        >
          <input
            class="input grow"
            aria-label="Name of the snapshot"
            placeholder="name of a new snapshot"
            value={name}
            spellcheck={false}
            onInput={event => setName(event.currentTarget.value)}
          />
          <button type="submit" class="button">
            <Icon name="history" /> Take a snapshot
          </button>
        </form>
        {snapshots.length === 0 && <p class="muted">No snapshots. One keeps all objects; restoring it brings them back.</p>}
        <ul class="stack">
          {snapshots.map(snapshot => (
            <li class="row row-wrap" key={snapshot.name}>
              <b class="wrap-anywhere">{snapshot.name}</b>
              <span class="muted small grow">
                {snapshot.objects.toLocaleString()} objects, <Age time={snapshot.created} /> old
              </span>
              <button
                type="button"
                class="button button-small"
                aria-label={`Restore ${snapshot.name}`}
                onClick={() => void restore(snapshot).then(isDone => isDone && reload())}
              >
                <Icon name="undo" size={14} /> Restore
              </button>
              <button
                type="button"
                class="button button-small button-icon"
                aria-label={`Delete ${snapshot.name}`}
                onClick={() => void change('Deleted the snapshot', pathOf(snapshot), 'DELETE').then(reload)}
              >
                <Icon name="trash" size={14} />
              </button>
            </li>
          ))}
        </ul>
      </div>
    </Card>
  )
}

const pathOf = ({ name }: Snapshot): string => `${V1}/snapshots/${encodeURIComponent(name)}`

const restore = (snapshot: Snapshot) =>
  confirm({
    title: `Restore ${snapshot.name}?`,
    body: <p>All objects become as they were in this snapshot. Watches receive the changes.</p>,
    action: 'Restore',
    isDangerous: true,
    run: () => send(`${pathOf(snapshot)}/restore`, { method: 'POST' }),
  })

const reset = () =>
  confirm({
    title: 'Reset the server?',
    body: <p>Its state becomes that after its start. Everything that was written since is gone, faults as well.</p>,
    action: 'Reset',
    isDangerous: true,
    run: () => send(`${V1}/reset`, { method: 'POST' }),
  })
