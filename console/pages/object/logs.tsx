/** The logs of a pod, followed. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { lines, messageOf, send } from '../../core/api.ts'
import { type Kind, objectPath } from '../../core/discovery.ts'
import type { KubeObject } from '../../core/object.ts'
import { Notice } from '../../parts/basics.tsx'
import { Icon } from '../../parts/icons.tsx'

const MAX_LINES = 5000
const MAX_SHOWN = 1500

export function Logs({ kind, object }: { kind: Kind; object: KubeObject }) {
  const { namespace, name } = object.metadata
  const containers: string[] = useMemo(
    () =>
      ['initContainers', 'containers', 'ephemeralContainers'].flatMap(field =>
        (object['spec']?.[field] ?? []).map((one: { name: string }) => one.name),
      ),
    [object['spec']],
  )
  const main = object['spec']?.containers?.[0]?.name ?? ''
  const [container, setContainer] = useState<string>(main)
  const [isPrevious, setPrevious] = useState(false)
  const [isFollowing, setFollowing] = useState(true)
  const [hasTimes, setTimes] = useState(false)
  const [filter, setFilter] = useState('')
  const [all, setAll] = useState<readonly string[]>([])
  const [error, setError] = useState('')
  const [turn, setTurn] = useState(0)
  const box = useRef<HTMLDivElement>(null)

  useEffect(() => {
    const abort = new AbortController()
    const buffer: string[] = []
    let frame = 0
    const show = () => {
      frame = 0
      if (buffer.length > MAX_LINES) buffer.splice(0, buffer.length - MAX_LINES)
      setAll([...buffer])
    }
    const read = async () => {
      const query = new URLSearchParams({
        container,
        tailLines: '1000',
        ...(isFollowing && !isPrevious ? { follow: 'true' } : {}),
        ...(isPrevious ? { previous: 'true' } : {}),
        ...(hasTimes ? { timestamps: 'true' } : {}),
      })
      const response = await send(`${objectPath(kind, namespace, name, 'log')}?${query}`, { accept: '*/*', signal: abort.signal })
      for await (const texts of lines(response)) {
        buffer.push(...texts)
        if (frame === 0) frame = requestAnimationFrame(show)
      }
    }
    setAll([])
    setError('')
    read().catch(failure => {
      if (!abort.signal.aborted) setError(messageOf(failure))
    })
    return () => {
      abort.abort()
      cancelAnimationFrame(frame)
    }
  }, [container, isPrevious, isFollowing, hasTimes, name, turn])
  useEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [all])

  const fitting = filter === '' ? all : all.filter(line => line.toLowerCase().includes(filter.toLowerCase()))
  const shown = fitting.slice(-MAX_SHOWN)
  return (
    <div class="stack">
      <div class="toolbar">
        {containers.length > 1 && (
          <select class="input" aria-label="Container" value={container} onChange={event => setContainer(event.currentTarget.value)}>
            {containers.map(one => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
        <input
          class="input grow"
          type="search"
          aria-label="Filter lines"
          placeholder="Filter lines"
          value={filter}
          onInput={event => setFilter(event.currentTarget.value)}
        />
        <button type="button" class="button" aria-pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
          <Icon name={isFollowing ? 'pause' : 'play'} /> Follow
        </button>
        <button type="button" class="button" aria-pressed={hasTimes} onClick={() => setTimes(!hasTimes)}>
          Times
        </button>
        <button type="button" class="button" aria-pressed={isPrevious} onClick={() => setPrevious(!isPrevious)}>
          Previous
        </button>
      </div>
      {error !== '' && (
        <Notice tone="warn" title={error}>
          <button type="button" class="button button-small" onClick={() => setTurn(turn + 1)}>
            Try again
          </button>
        </Notice>
      )}
      <div class="logs code" ref={box} role="log" aria-label={`Logs of ${container}`} tabIndex={0}>
        {shown.length === 0 && error === '' && <p class="muted">{filter === '' ? 'No output yet.' : 'No line fits.'}</p>}
        {shown.map((line, i) => (
          <div class="log-line" key={i}>
            {line}
          </div>
        ))}
      </div>
    </div>
  )
}
