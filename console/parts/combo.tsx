/** An input with completions for the last term of a list. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icons.tsx'

type ComboProps = {
  readonly label: string
  readonly placeholder: string
  readonly icon?: IconName
  readonly value: string
  /** Completions for the text so far: each is the whole new text. */
  complete(text: string): readonly { readonly text: string; readonly hint?: string }[]
  /** Called when the text is meant: Enter, a completion, or the loss of focus. */
  onCommit(text: string): void
  readonly problem?: string
  readonly className?: string
}

const MAX_SHOWN = 12

export function Combo({ label, placeholder, icon, value, complete, onCommit, problem, className = '' }: ComboProps) {
  const [text, setText] = useState(value)
  const [isOpen, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const id = useRef(`combo-${Math.random().toString(36).slice(2)}`).current
  useEffect(() => setText(value), [value])
  const options = isOpen ? complete(text).slice(0, MAX_SHOWN) : []
  const commit = (next: string) => {
    setText(next)
    // A term without its value is not finished.
    if (/(=|!=|\(|,)$/.test(next)) {
      setOpen(true)
      setAt(-1)
      return
    }
    setOpen(false)
    onCommit(next)
  }
  return (
    <div class={`combo ${className}`}>
      <div class="combo-box">
        {icon && <Icon name={icon} size={14} />}
        <input
          class="input mono"
          role="combobox"
          aria-label={label}
          aria-expanded={options.length > 0}
          aria-controls={id}
          aria-autocomplete="list"
          aria-invalid={problem ? true : undefined}
          {...(at >= 0 && options[at] ? { 'aria-activedescendant': `${id}-${at}` } : {})}
          placeholder={placeholder}
          spellcheck={false}
          autocomplete="off"
          value={text}
          title={problem ?? label}
          onFocus={() => {
            setOpen(true)
            setAt(-1)
          }}
          onBlur={() => {
            setOpen(false)
            if (text !== value) onCommit(text)
          }}
          onInput={event => {
            setText(event.currentTarget.value)
            setOpen(true)
            setAt(-1)
          }}
          onKeyDown={event => {
            if (event.key === 'ArrowDown') setAt(Math.min(options.length - 1, at + 1))
            else if (event.key === 'ArrowUp') setAt(Math.max(-1, at - 1))
            else if (event.key === 'Enter') commit(options[at]?.text ?? text)
            else if (event.key === 'Tab' && at >= 0 && options[at]) commit(options[at]!.text)
            else if (event.key === 'Escape' && isOpen) setOpen(false)
            else return
            event.preventDefault()
            event.stopPropagation()
          }}
        />
      </div>
      {options.length > 0 && (
        <div class="menu" role="listbox" tabIndex={-1} id={id} aria-label={`Completions of ${label}`}>
          {options.map((option, i) => (
            <div
              key={option.text}
              id={`${id}-${i}`}
              class="menu-item mono small"
              role="option"
              aria-selected={i === at}
              onMouseDown={event => {
                event.preventDefault()
                commit(option.text)
              }}
            >
              <span class="grow cut">{option.text.split(',').at(-1)}</span>
              {option.hint && <span class="faint">{option.hint}</span>}
            </div>
          ))}
        </div>
      )}
    </div>
  )
}
