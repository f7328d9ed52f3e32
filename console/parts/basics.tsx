/** Small parts: badges, notices, links to objects, empty and failed states. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, isForbidden, isNotFound, messageOf } from '../core/api.ts'
import { type Kind, kindOf } from '../core/discovery.ts'
import { href, toObject } from '../core/router.ts'
import { age, clock, now } from '../core/time.ts'
import { toast } from '../core/toasts.ts'
import { Icon, type IconName } from './icons.tsx'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'violet' | 'plain'

export function Badge({ tone = 'plain', children, title }: { tone?: Tone; children: ComponentChildren; title?: string }) {
  return (
    <span class={`badge ${tone === 'plain' ? '' : `badge-${tone}`}`} {...(title ? { title } : {})}>
      {tone !== 'plain' && tone !== 'violet' && <span class={`dot dot-${tone}`} aria-hidden="true" />}
      <span class="cut">{children}</span>
    </span>
  )
}

export function Spinner({ label = 'Loading' }: { label?: string }) {
  return (
    <span class="row muted" role="status">
      <span class="spinner" aria-hidden="true" />
      {label}
    </span>
  )
}

export function Age({ time }: { time: string | undefined }) {
  return time ? (
    <time class="nowrap" dateTime={time} title={clock(time)}>
      {age(time, now.value)}
    </time>
  ) : (
    <span class="faint">–</span>
  )
}

export function Notice({
  tone,
  title,
  children,
}: {
  tone: Exclude<Tone, 'violet' | 'plain'>
  title?: ComponentChildren
  children?: ComponentChildren
}) {
  const icon: IconName = tone === 'good' ? 'check' : tone === 'info' ? 'info' : 'alert'
  return (
    <div class={`notice notice-${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <Icon name={icon} />
      <div class="grow wrap-anywhere">
        {title && <div class="strong">{title}</div>}
        {children}
      </div>
    </div>
  )
}

export function Empty({
  icon = 'box',
  title,
  children,
  level = 2,
}: {
  icon?: IconName
  title: string
  children?: ComponentChildren
  level?: 1 | 2
}) {
  const Heading = level === 1 ? 'h1' : 'h2'
  return (
    <div class="empty">
      <Icon name={icon} size={32} />
      <Heading>{title}</Heading>
      {children}
    </div>
  )
}

/** An error as the main content of a page: unknown, forbidden, or failed. */
export function Problem({ error, subject, onRetry }: { error: unknown; subject: string; onRetry?: () => void }) {
  if (isNotFound(error))
    return (
      <Empty icon="ghost" title={`${subject} does not exist`} level={1}>
        <p>{messageOf(error)}</p>
        <p>
          <a href={href('/')}>Go to the overview</a>
        </p>
      </Empty>
    )
  if (isForbidden(error)) {
    const { user, need } = permissionOf(messageOf(error))
    return (
      <Empty icon="lock" title={`You may not see ${subject}`} level={1}>
        {need ? (
          <p>
            <b>{user}</b> lacks the permission to <b>{need}</b>.
          </p>
        ) : null}
        <p class="faint">{messageOf(error)}</p>
      </Empty>
    )
  }
  return (
    <Empty icon="alert" title={`${subject} cannot be shown`} level={1}>
      <p>{messageOf(error)}</p>
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          <Icon name="refresh" /> Try again
        </button>
      )}
    </Empty>
  )
}

/** The permission that a message of the authorizer says is missing. */
export function permissionOf(message: string): { user: string; need: string } {
  const [, user = 'This user', verb, resource, group, rest = ''] =
    /User "([^"]*)" cannot (\S+) (?:resource "([^"]*)" in API group "([^"]*)"|path "[^"]*")(.*)/.exec(message) ?? []
  const [, path] = /cannot \S+ path "([^"]*)"/.exec(message) ?? []
  if (!verb) return { user, need: '' }
  if (path) return { user, need: `${verb} ${path}` }
  const [, namespace] = /namespace "([^"]*)"/.exec(rest) ?? []
  const place = namespace ? ` in the namespace ${namespace}` : rest.includes('cluster scope') ? ' in all namespaces' : ''
  return { user, need: `${verb} ${group ? `${resource}.${group}` : resource}${place}` }
}

/** Every cause of a refusal, at its field. */
export function Causes({ error }: { error: unknown }) {
  const causes = error instanceof ApiError ? error.causes : []
  if (causes.length === 0) return <p>{messageOf(error)}</p>
  return (
    <ul class="stack stack-tight">
      {causes.map(({ field, message }) => (
        <li key={`${field}${message}`}>
          {field && <code class="strong">{field}</code>} {message}
        </li>
      ))}
    </ul>
  )
}

export function ObjectLink({
  kind,
  namespace,
  name,
  tab,
}: {
  kind: Kind | undefined
  namespace?: string | undefined
  name: string
  tab?: string
}) {
  if (!kind) return <span>{name}</span>
  return <a href={href(toObject(kind, kind.namespaced ? namespace : undefined, name, tab))}>{name}</a>
}

/** A link by apiVersion and kind, as references have them. */
export function RefLink({
  apiVersion,
  kind,
  namespace,
  name,
}: {
  apiVersion: string
  kind: string
  namespace?: string | undefined
  name: string
}) {
  return <ObjectLink kind={kindOf(apiVersion, kind)} namespace={namespace} name={name} />
}

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <button
      type="button"
      class="button button-plain button-small button-icon"
      aria-label={label}
      title={label}
      onClick={() => void navigator.clipboard.writeText(text).then(() => toast('Copied', 'plain'))}
    >
      <Icon name="copy" size={14} />
    </button>
  )
}

export type MenuItem = { readonly label: string; readonly icon?: IconName; readonly isDangerous?: boolean; run(): void } | 'line'

/** A button that opens a list of actions. */
export function Menu({
  label,
  icon,
  items,
  children,
  isPlain = false,
}: {
  label: string
  icon?: IconName
  items: readonly MenuItem[]
  children?: ComponentChildren
  isPlain?: boolean
}) {
  const [isOpen, setOpen] = useState(false)
  const anchor = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isOpen) return
    const close = (event: Event) => {
      if (!anchor.current?.contains(event.target as Node)) setOpen(false)
    }
    addEventListener('mousedown', close)
    anchor.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus()
    return () => removeEventListener('mousedown', close)
  }, [isOpen])
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return
    const all = [...(anchor.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])]
    const at = all.indexOf(document.activeElement as HTMLElement)
    if (event.key === 'Escape') {
      setOpen(false)
      anchor.current?.querySelector('button')?.focus()
    } else if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus()
    else if (event.key === 'ArrowUp') all[(at - 1 + all.length) % all.length]?.focus()
    else if (event.key === 'Tab') setOpen(false)
    else return
    if (event.key !== 'Tab') event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div class="menu-anchor" ref={anchor} onKeyDown={onKeyDown} role="presentation">
      <button
        type="button"
        class={`button ${isPlain ? 'button-plain' : ''} ${children ? '' : 'button-icon'}`}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!isOpen)}
      >
        {icon && <Icon name={icon} />}
        {children}
      </button>
      {isOpen && (
        <div class="menu" role="menu" aria-label={label}>
          {items.map((item, i) =>
            item === 'line' ? (
              <hr key={`line${i}`} />
            ) : (
              <button
                type="button"
                key={item.label}
                class={`menu-item ${item.isDangerous ? 'menu-item-danger' : ''}`}
                role="menuitem"
                onClick={() => {
                  setOpen(false)
                  item.run()
                }}
              >
                {item.icon && <Icon name={item.icon} />}
                {item.label}
              </button>
            ),
          )}
        </div>
      )}
    </div>
  )
}

/** A heading with its card. */
export function Card({
  title,
  side,
  children,
  isFlush = false,
}: {
  title?: ComponentChildren
  side?: ComponentChildren
  children: ComponentChildren
  isFlush?: boolean
}) {
  return (
    <section class={`card ${isFlush ? 'card-flush' : ''}`}>
      {title && (
        <div class="card-head">
          <h2>{title}</h2>
          {side}
        </div>
      )}
      {isFlush ? children : <div class="card-body">{children}</div>}
    </section>
  )
}

/** A small table that scrolls sideways where the page is narrow; one with a label can be scrolled by keyboard. */
export function Table({ columns, label, children }: { columns?: string[]; label?: string; children: ComponentChildren }) {
  return (
    <section class="scroll-x" tabIndex={0} {...(label ? { 'aria-label': label } : {})}>
      <table class="table">
        {columns && (
          <thead>
            <tr>
              {columns.map(column => (
                <th key={column}>{column}</th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}

/** Choices side by side. */
export function Segments<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: T
  options: readonly (readonly [T, string])[]
  onChange(value: T): void
}) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button type="button" key={option} aria-pressed={option === value} onClick={() => onChange(option)}>
          {text}
        </button>
      ))}
    </div>
  )
}

/** A wait until a promise has an answer, once for each list of dependencies. */
export function useAsync<T>(
  load: (signal: AbortSignal) => Promise<T>,
  deps: readonly unknown[],
): { value: T | undefined; error: unknown; isLoading: boolean; reload(): void } {
  const [state, setState] = useState<{ value: T | undefined; error: unknown; isLoading: boolean }>({
    value: undefined,
    error: undefined,
    isLoading: true,
  })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    setState(was => ({ ...was, isLoading: true }))
    load(abort.signal).then(
      value => !abort.signal.aborted && setState({ value, error: undefined, isLoading: false }),
      error => !abort.signal.aborted && setState({ value: undefined, error, isLoading: false }),
    )
    return () => abort.abort()
  }, [...deps, turn])
  // A wait that is under way goes on: looking again would only begin it anew.
  return { ...state, reload: () => !state.isLoading && setTurn(turn + 1) }
}
