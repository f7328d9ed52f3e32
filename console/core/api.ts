/** The client of the API: every request goes through the console's own path, with the session's cookie and the console's header. */
import { signal } from '@preact/signals'
import type { KubeObject } from './object.ts'

export type Cause = { reason?: string; message?: string; field?: string }

/** The body of an error. */
export type Status = {
  status?: string
  message?: string
  reason?: string
  code?: number
  details?: { name?: string; group?: string; kind?: string; causes?: Cause[]; retryAfterSeconds?: number }
}

/** An answer that is no success, or none at all (code 0). */
export class ApiError extends Error {
  readonly status: Status
  readonly code: number
  readonly headers: Headers | undefined

  constructor(status: Status, code: number, headers?: Headers) {
    super(status.message ?? `the server answered with ${code}`)
    this.status = status
    this.code = code
    this.headers = headers
  }

  get causes(): readonly Cause[] {
    return this.status.details?.causes ?? []
  }
}

export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === 404
export const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.code === 403

/** The session has ended: the login page shows. */
export const isSignedOut = signal(false)
/** The server cannot be reached. */
export const isOffline = signal(false)

export type Ask = {
  method?: string
  body?: unknown
  type?: string
  accept?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

const BASE = '/console/api'

/** One request. Throws ApiError for everything but success. */
export async function send(path: string, { method = 'GET', body, type, accept, headers, signal: abort }: Ask = {}): Promise<Response> {
  const sent: Record<string, string> = { 'Keelson-Console': '1', Accept: accept ?? 'application/json', ...headers }
  if (body !== undefined) sent['Content-Type'] = type ?? 'application/json'
  let response: Response
  try {
    response = await fetch(BASE + path, {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(abort ? { signal: abort } : {}),
      credentials: 'same-origin',
      cache: 'no-store',
    })
  } catch (error) {
    if (abort?.aborted) throw error
    isOffline.value = true
    throw new ApiError({ message: 'The server cannot be reached.', reason: 'Offline' }, 0)
  }
  isOffline.value = false
  if (response.ok) return response
  throw await errorOf(response)
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '')
  let status: Status = {}
  try {
    status = JSON.parse(text) as Status
  } catch {
    status = { message: text.trim() }
  }
  if (!status.message) status.message = `${response.status} ${response.statusText}`.trim()
  if (response.status === 401) isSignedOut.value = true
  return new ApiError(status, response.status, response.headers)
}

export async function get<T = KubeObject>(path: string, ask: Ask = {}): Promise<T> {
  return (await (await send(path, ask)).json()) as T
}

export async function getText(path: string, ask: Ask = {}): Promise<string> {
  return (await send(path, { accept: '*/*', ...ask })).text()
}

/** The lines of a response as they come. */
export async function* lines(response: Response): AsyncGenerator<string[], undefined> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) {
        if (rest !== '') yield [rest]
        return
      }
      const parts = (rest + value).split('\n')
      rest = parts.pop() ?? ''
      if (parts.length > 0) yield parts
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

export type WatchEvent<T = KubeObject> = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'; object: T }

/** The message of any error. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
