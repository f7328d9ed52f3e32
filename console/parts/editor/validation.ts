/** A draft that is checked while it is typed: by the parser at once, by a dry run of the server when typing rests. */
import { type Signal, signal } from '@preact/signals'
import { ApiError, type Cause, messageOf, send } from '../../core/api.ts'
import type { EditorMark } from './code-editor.tsx'
import type { ParsedYaml } from './yaml-tree.ts'

export type Verdict =
  | { readonly state: 'idle' | 'checking' }
  | { readonly state: 'valid'; readonly result: any; readonly warnings: readonly string[] }
  | { readonly state: 'invalid'; readonly error: unknown; readonly causes: readonly Cause[] }

export type DryRun = { readonly path: string; readonly method: string; readonly body: any; readonly type?: string }

const REST_MS = 450

export type Checker = { readonly verdict: Signal<Verdict>; check(request: DryRun | undefined): void; stop(): void }

export function checker(): Checker {
  const verdict = signal<Verdict>({ state: 'idle' })
  let timer: ReturnType<typeof setTimeout> | undefined
  let abort: AbortController | undefined
  return {
    verdict,
    check(request) {
      clearTimeout(timer)
      abort?.abort()
      if (!request) return
      verdict.value = { state: 'checking' }
      timer = setTimeout(async () => {
        abort = new AbortController()
        const { signal: aborted } = abort
        try {
          verdict.value = await dryRun(request, aborted)
        } catch (error) {
          if (!aborted.aborted) verdict.value = { state: 'invalid', error, causes: causesOf(error) }
        }
      }, REST_MS)
    },
    stop() {
      clearTimeout(timer)
      abort?.abort()
    },
  }
}

/** The answer that the server would give, without the write. */
export async function dryRun({ path, method, body, type }: DryRun, abort?: AbortSignal): Promise<Verdict> {
  const response = await send(`${path}${path.includes('?') ? '&' : '?'}dryRun=All&fieldValidation=Strict`, {
    method,
    body,
    ...(type ? { type } : {}),
    ...(abort ? { signal: abort } : {}),
  })
  return { state: 'valid', result: await response.json(), warnings: warningsOf(response.headers) }
}

/** The texts of Warning headers. */
export function warningsOf(headers: Headers): string[] {
  return [...(headers.get('Warning') ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text!.replace(/\\(.)/g, '$1'))
}

/** Causes with their fields: those that the status lists, or those that strict decoding names in its message. */
export function causesOf(error: unknown): readonly Cause[] {
  if (!(error instanceof ApiError)) return [{ message: messageOf(error) }]
  if (error.causes.length > 0) return error.causes
  const named = [...error.message.matchAll(/(unknown|duplicate) field "([^"]+)"/g)].map(([, what, field]) => ({
    field: field!,
    message: `${what} field`,
  }))
  if (named.length > 0) return named
  const [, typed] = /(?:\.|in )([\w.[\]]+) of type/.exec(error.message) ?? []
  return [{ ...(typed ? { field: typed } : {}), message: error.message }]
}

/** Causes at their lines. Those without a place are shown beside the editor only. */
export function marksOf(
  parsed: ParsedYaml,
  causes: readonly Cause[],
  spanOf: (parsed: ParsedYaml, field: string) => { from: number; to: number } | undefined,
): EditorMark[] {
  return causes.flatMap(({ field, message = '' }) => {
    const span = field ? spanOf(parsed, field.replace(/^<nil>$/, '')) : undefined
    return span ? [{ ...span, message: field ? `${field}: ${message}` : message }] : []
  })
}
