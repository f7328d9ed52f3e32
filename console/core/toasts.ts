/** Short messages about finished actions. */
import { signal } from '@preact/signals'
import { ApiError, messageOf } from './api.ts'

export type Toast = {
  readonly id: number
  readonly tone: 'good' | 'bad' | 'plain'
  readonly text: string
  readonly details: readonly string[]
}

export const toasts = signal<readonly Toast[]>([])
let ids = 0
const SHOWN_MS = 5_000
const MAX_SHOWN = 4

export function toast(text: string, tone: Toast['tone'] = 'good', details: readonly string[] = []): void {
  const id = ++ids
  toasts.value = [...toasts.value, { id, tone, text, details }].slice(-MAX_SHOWN)
  // An error stays until it is dismissed.
  if (tone !== 'bad') setTimeout(() => dismiss(id), SHOWN_MS)
}

export function toastError(what: string, error: unknown): void {
  const causes = error instanceof ApiError ? error.causes.map(({ field, message }) => [field, message].filter(Boolean).join(': ')) : []
  toast(`${what}: ${messageOf(error)}`, 'bad', causes.length > 1 ? causes : [])
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter(one => one.id !== id)
}
