/** Keyboard shortcuts: one table of those that are in use now, which the help shows. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

export type Shortcut = { readonly keys: string; readonly title: string; readonly group?: string; run(): void }

const active = signal<readonly Shortcut[]>([])
export const shortcuts = active

/** Shortcuts of a component, while it is shown. A key of two is typed one after the other: `g n`. */
export function useShortcuts(list: readonly Shortcut[], deps: readonly unknown[] = []): void {
  useEffect(() => {
    active.value = [...active.value, ...list]
    return () => {
      active.value = active.value.filter(one => !list.includes(one))
    }
  }, deps as unknown[])
}

const isTyping = (target: EventTarget | null): boolean => {
  const element = target as HTMLElement | null
  return !!element?.closest?.('input, textarea, select, [contenteditable], .cm-host')
}

/** Dialogs that are open: shortcuts rest meanwhile. */
export const openDialogs = signal(0)

let prefix = ''
let forget: ReturnType<typeof setTimeout> | undefined

export function startKeys(): void {
  addEventListener('keydown', event => {
    if (event.defaultPrevented) return
    const name = `${event.ctrlKey || event.metaKey ? 'Ctrl-' : ''}${event.key.length === 1 && (event.ctrlKey || event.metaKey) ? event.key.toUpperCase() : event.key}`
    if (openDialogs.value > 0) return
    if (isTyping(event.composedPath()[0] as EventTarget) && !name.startsWith('Ctrl-')) return
    if (event.altKey) return
    const typed = prefix === '' ? name : `${prefix} ${name}`
    // The newest comes first: a page's own key wins over the console's.
    const found = active.value.findLast(({ keys }) => keys.split(', ').includes(typed))
    clearTimeout(forget)
    prefix = ''
    if (found) {
      event.preventDefault()
      found.run()
      return
    }
    if (active.value.some(({ keys }) => keys.split(', ').some(one => one.startsWith(`${name} `)))) {
      prefix = name
      forget = setTimeout(() => {
        prefix = ''
      }, 1200)
    }
  })
}
