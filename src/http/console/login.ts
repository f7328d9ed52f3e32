/** `/console/session` and `/console/codes`: who is logged in, login and logout, and codes that log another browser in. */
import type { Authenticator } from '../../authn/authenticator.ts'
import type { Clock } from '../../lib/clock.ts'
import { isObject } from '../../lib/json-value.ts'
import { LIMITS } from '../../lib/limits.ts'
import { badRequest, methodNotAllowed, tooLarge, unauthorized } from '../../schema/status-error.ts'
import type { User } from '../../schema/user.ts'
import { credentialsOf } from '../cross-site.ts'
import { bytesResponse, header, type Request, type Response } from '../message.ts'
import type { Log } from '../observability/log.ts'
import type { Codes } from './codes.ts'
import { type Credential, certificateCredential, tokenCredential, userOf } from './credential.ts'
import { hostOf } from './same-origin.ts'
import type { Session, Sessions } from './sessions.ts'

export type LoginParts = {
  readonly clock: Clock
  readonly sessions: Sessions
  readonly codes: Codes
  readonly authenticator: Authenticator
  readonly log: Log
}

/** A session, and the user whom its credential authenticates now. */
export type Visit = { readonly key: string; readonly session: Session; readonly user: User }

export class Login {
  readonly #parts: LoginParts

  constructor(parts: LoginParts) {
    this.#parts = parts
  }

  /** Throws 401 where the request has no session, or its credential no longer stands for the same user. */
  async visit(request: Request): Promise<Visit> {
    const { sessions, authenticator } = this.#parts
    const key = keyIn(request)
    const session = key === undefined ? undefined : await sessions.find(key)
    if (key === undefined || !session) throw unauthorized()
    const user = await userOf(session.credential, authenticator, request)
    if (user?.name === session.user) return { key, session, user }
    await sessions.logOut(key)
    throw unauthorized()
  }

  /** Answers `/console/session`. */
  async session(request: Request): Promise<Response> {
    switch (request.method) {
      case 'GET':
      case 'HEAD': {
        const { session, user } = await this.visit(request)
        return json(200, described(user, session, this.#parts.clock.now()))
      }
      case 'POST':
        return await this.#logIn(request)
      case 'DELETE': {
        const key = keyIn(request)
        if (key !== undefined) await this.#parts.sessions.logOut(key)
        return { status: 204, headers: { 'set-cookie': cookieOf(request, '', 0) }, body: new Uint8Array(0) }
      }
      default:
        throw methodNotAllowed()
    }
  }

  /** Answers `/console/codes`: a code for the credentials of the request itself; a session is not enough. */
  async code(request: Request): Promise<Response> {
    if (request.method !== 'POST') throw methodNotAllowed()
    if (Object.keys(request.headers).some(name => name.toLowerCase().startsWith('impersonate-')))
      throw badRequest('a code is for the user who asks for it; the console itself can impersonate')
    const { authorization, certificate } = credentialsOf(request)
    const credential: Credential = {
      ...(authorization !== undefined && { authorization }),
      ...(certificate && certificateCredential(certificate)),
    }
    const user = await userOf(credential, this.#parts.authenticator, request)
    if (!user) throw unauthorized()
    const code = this.#parts.codes.issue(user.name, credential)
    this.#parts.log.info({ user: user.name, source: request.peer.address }, 'a code for the console was issued')
    return json(201, { code, user: user.name, expiresSeconds: LIMITS.console.codeMs / 1000 })
  }

  async #logIn(request: Request): Promise<Response> {
    const { sessions, authenticator, log } = this.#parts
    const credential = await this.#credentialIn(request)
    const user = credential && (await userOf(credential, authenticator, request))
    if (!credential || !user) throw unauthorized()
    // The key of an earlier login is worth nothing from here on.
    const before = keyIn(request)
    if (before !== undefined) await sessions.logOut(before)
    const { key, session } = sessions.begin(user.name, credential)
    log.info({ user: user.name, source: request.peer.address }, 'a session of the console was opened')
    const response = json(200, described(user, session, this.#parts.clock.now()))
    return { ...response, headers: { ...response.headers, 'set-cookie': cookieOf(request, key, LIMITS.console.sessionMs / 1000) } }
  }

  async #credentialIn(request: Request): Promise<Credential | undefined> {
    const { code, token, ...others } = await readLogin(request)
    if (Object.keys(others).length > 0 || (code !== undefined && token !== undefined)) throw badRequest(HOW)
    if (code !== undefined) return typeof code === 'string' ? await this.#parts.codes.redeem(code) : undefined
    if (token !== undefined) return typeof token === 'string' && /^[!-~]+$/.test(token) ? tokenCredential(token) : undefined
    const { certificate } = request.peer
    return certificate && certificateCredential(certificate)
  }
}

const HOW = 'a login is { "code": … } of keelson console, { "token": … }, or {} with a client certificate'

async function readLogin(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await request.readBody(LIMITS.console.bodyBytes)
  if (bytes === undefined) throw tooLarge(`Request entity too large: limit is ${LIMITS.console.bodyBytes}`)
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString() || '{}')
    if (isObject(value)) return value
  } catch {
    // The message of the parser would quote the login.
  }
  throw badRequest(HOW)
}

/** The page shows times of objects, which are the server's, so it has to know the server's time. */
const described = ({ name, groups }: User, { endsAt }: Session, now: number) => ({
  user: name,
  groups,
  expires: new Date(endsAt).toISOString(),
  time: new Date(now).toISOString(),
})

const json = (status: number, value: object): Response => ({
  ...bytesResponse(status, 'application/json', Buffer.from(JSON.stringify(value))),
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
})

/** Cookies make no difference between the ports of a host, so each server has its own name. */
const cookieName = (request: Request): string => `keelson-console-${/:(\d+)$/.exec(hostOf(request))?.[1] ?? '443'}`

/** The browser sends it to the console alone, in no request of another site, and no script can read it. */
const cookieOf = (request: Request, key: string, seconds: number): string =>
  `${cookieName(request)}=${key}; Path=/console/; HttpOnly; Secure; SameSite=Strict; Max-Age=${seconds}`

function keyIn(request: Request): string | undefined {
  const name = cookieName(request)
  const pairs = (header(request.headers, 'cookie') ?? '').split(';').map(pair => pair.trim().split('='))
  return pairs.find(([found]) => found === name)?.[1]
}
