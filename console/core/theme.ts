/** Light or dark: as the system, unless the user chose. Only this choice and the namespace are kept in the browser. */
import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'keelson-theme'
const stored = (() => {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
})()

export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system')
const dark = matchMedia('(prefers-color-scheme: dark)')
/** Whether dark colours are in use; plots read it. */
export const isDark = signal(dark.matches)

export function startTheme(): void {
  dark.addEventListener('change', () => {
    isDark.value = theme.value === 'system' ? dark.matches : theme.value === 'dark'
  })
  effect(() => {
    document.documentElement.dataset['theme'] = isDark.value ? 'dark' : 'light'
  })
  effect(() => {
    const chosen = theme.value
    isDark.value = chosen === 'system' ? dark.matches : chosen === 'dark'
    try {
      if (chosen === 'system') localStorage.removeItem(KEY)
      else localStorage.setItem(KEY, chosen)
    } catch {}
  })
}

export function nextTheme(): void {
  theme.value = isDark.value ? 'light' : 'dark'
}
