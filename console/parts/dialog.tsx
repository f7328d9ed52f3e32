/** Dialogs: the focus stays inside, Escape closes, and goes back to where it was. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { messageOf } from '../core/api.ts'
import { openDialogs } from '../core/keys.ts'
import { Icon } from './icons.tsx'

const FOCUSABLE =
  'a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), [tabindex="0"], .cm-host'

type DialogProps = {
  title: string
  onClose(): void
  children: ComponentChildren
  foot?: ComponentChildren
  className?: string
  /** Without a heading of its own; the title is its name only. */
  isBare?: boolean
}

export function Dialog({ title, onClose, children, foot, className = '', isBare = false }: DialogProps) {
  const box = useRef<HTMLDivElement>(null)
  const id = useId()
  // Before the next key: one that is typed right after Escape is for the page again.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null
    openDialogs.value++
    const first =
      box.current?.querySelector<HTMLElement>('[autofocus], input, textarea, select') ?? box.current?.querySelector<HTMLElement>(FOCUSABLE)
    ;(first ?? box.current)?.focus()
    return () => {
      openDialogs.value--
      before?.focus?.()
    }
  }, [])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.stopPropagation()
      event.preventDefault()
      onClose()
    }
    if (event.key !== 'Tab' || !box.current) return
    const all = [...box.current.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(element => element.offsetParent !== null)
    const [first, last] = [all[0], all.at(-1)]
    const active = document.activeElement
    if (event.shiftKey && (active === first || active === box.current)) {
      event.preventDefault()
      last?.focus()
    } else if (!event.shiftKey && active === last) {
      event.preventDefault()
      first?.focus()
    }
  }
  return (
    <div
      class="scrim"
      onMouseDown={event => {
        if (event.target === event.currentTarget) onClose()
      }}
    >
      <div
        ref={box}
        class={`dialog ${className}`}
        role="dialog"
        aria-modal="true"
        tabIndex={-1}
        {...(isBare ? { 'aria-label': title } : { 'aria-labelledby': id })}
        onKeyDown={onKeyDown}
      >
        {!isBare && (
          <div class="dialog-head row row-between">
            <h2 id={id}>{title}</h2>
            <button type="button" class="button button-plain button-icon button-small" aria-label="Close" onClick={onClose}>
              <Icon name="close" size={14} />
            </button>
          </div>
        )}
        {isBare ? (
          children
        ) : (
          <div class="dialog-body" tabIndex={0}>
            {children}
          </div>
        )}
        {foot && <div class="dialog-foot">{foot}</div>}
      </div>
    </div>
  )
}

type Confirmation = {
  readonly title: string
  readonly body: ComponentChildren
  readonly action: string
  readonly isDangerous: boolean
  /** Text that must be typed first. */
  readonly typed?: string
  /** Work that the dialog waits for, and whose error it shows. */
  readonly run?: () => Promise<unknown>
  readonly answer: (isConfirmed: boolean) => void
}
const asked = signal<Confirmation | undefined>(undefined)

type Confirm = {
  title: string
  body?: ComponentChildren
  action: string
  isDangerous?: boolean
  typed?: string
  run?: () => Promise<unknown>
}

/** Asks; resolves with whether it was confirmed (and, with `run`, done). */
export function confirm({ body = null, isDangerous = false, ...rest }: Confirm): Promise<boolean> {
  asked.value?.answer(false)
  return new Promise(resolve => {
    asked.value = {
      ...rest,
      body,
      isDangerous,
      answer: isConfirmed => {
        asked.value = undefined
        resolve(isConfirmed)
      },
    }
  })
}

export function ConfirmHost() {
  const question = asked.value
  return question ? <ConfirmDialog key={question.title} question={question} /> : null
}

function ConfirmDialog({ question }: { question: Confirmation }) {
  const [text, setText] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const isReady = question.typed === undefined || text === question.typed
  const go = async () => {
    if (!isReady || isBusy) return
    if (!question.run) return question.answer(true)
    setBusy(true)
    try {
      await question.run()
      question.answer(true)
    } catch (failure) {
      setError(messageOf(failure))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={question.title}
      onClose={() => question.answer(false)}
      foot={
        <>
          <button type="button" class="button" onClick={() => question.answer(false)}>
            Cancel
          </button>
          <button
            type="button"
            class={`button button-primary ${question.isDangerous ? 'button-danger' : ''}`}
            disabled={!isReady || isBusy}
            onClick={go}
            {...(question.typed === undefined ? { autofocus: true } : {})}
          >
            {question.action}
          </button>
        </>
      }
    >
      <div class="stack">
        {question.body}
        {question.typed !== undefined && (
          <label class="field">
            <span>
              Type <code>{question.typed}</code> to confirm
            </span>
            <input
              class="input mono"
              value={text}
              autocomplete="off"
              spellcheck={false}
              onInput={event => setText(event.currentTarget.value)}
              onKeyDown={event => event.key === 'Enter' && void go()}
            />
          </label>
        )}
        {error !== '' && (
          <p class="bad" role="alert">
            {error}
          </p>
        )}
      </div>
    </Dialog>
  )
}
