/** The session: who is logged in, and the ways in and out. */
import { signal } from '@preact/signals'
import { ApiError, isSignedOut, type Status } from './api.ts'
import { followServer } from './time.ts'

export type Session = { readonly user: string; readonly groups: readonly string[]; readonly expires: string; readonly time?: string }

/** `undefined` while unknown, `null` without a session. */
export const session = signal<Session | null | undefined>(undefined)

const PATH = '/console/session'

async function ask(method: string, body?: object): Promise<Session | undefined> {
  const response = await fetch(PATH, {
    method,
    headers: { 'Keelson-Console': '1', Accept: 'application/json', ...(body ? { 'Content-Type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    credentials: 'same-origin',
    cache: 'no-store',
  })
  const text = await response.text()
  if (!response.ok) {
    let status: Status = { message: text }
    try {
      status = JSON.parse(text) as Status
    } catch {}
    throw new ApiError(status, response.status)
  }
  return text === '' ? undefined : (JSON.parse(text) as Session)
}

function began(found: Session): void {
  session.value = found
  followServer(found.time)
  isSignedOut.value = false
}

/** Looks for a session; a one-time code in the address is exchanged for one, and removed from the address. */
export async function resume(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (code !== null) {
    history.replaceState(null, '', location.pathname + location.search)
    return login({ code })
  }
  try {
    const found = await ask('GET')
    if (found) began(found)
    else session.value = null
  } catch (error) {
    session.value = null
    if (error instanceof ApiError && error.code === 401) return
    throw error
  }
}

/** After the end of a session, as by a restart of the server, a certificate of the browser opens another one for the same user. */
export async function returnByCertificate(): Promise<void> {
  try {
    const found = await ask('POST', {})
    if (found?.user === session.peek()?.user) began(found!)
    else await ask('DELETE')
  } catch {
    // The login is shown.
  }
}

/** Logs in with a one-time code or a token; with neither, by the browser's client certificate. */
export async function login(credentials: { code: string } | { token: string } | Record<string, never>): Promise<void> {
  try {
    const found = (await ask('POST', credentials)) ?? (await ask('GET'))
    if (found) began(found)
  } catch (error) {
    // A page of an ended session stays until somebody else logs in.
    if (!isSignedOut.peek()) session.value = null
    throw error
  }
}

export async function logout(): Promise<void> {
  await ask('DELETE').catch(() => {})
  session.value = null
}
