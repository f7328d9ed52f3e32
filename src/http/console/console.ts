/** The console: its files, its sessions, and the API for pages that have one. Loaded with the first request for it. */
import type { Authenticator } from '../../authn/authenticator.ts'
import type { Clock } from '../../lib/clock.ts'
import { newUuid } from '../../lib/environment.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { StatusError } from '../../schema/status-error.ts'
import { statusOf } from '../error.ts'
import { bytesResponse, type Request, type Response, textResponse, withoutBody } from '../message.ts'
import { failureStack } from '../observability/failure-text.ts'
import type { Log } from '../observability/log.ts'
import type { OtherProcesses } from '../other-processes.ts'
import { Codes } from './codes.ts'
import { CONSOLE_PATH } from './console-path.ts'
import { withConsoleHeaders } from './headers.ts'
import { Login } from './login.ts'
import { PresentedNames } from './presented-names.ts'
import { checkSamePage, hostOf } from './same-origin.ts'
import { SessionRequest, withinSession } from './session-request.ts'
import { Sessions } from './sessions.ts'
import { type FileSource, StaticFiles } from './static-files.ts'

export type ConsoleParts = {
  /** The files that the build has made. */
  readonly files: FileSource
  /** Serves requests of the API, as for every client. */
  readonly serve: (request: Request) => MaybePromise<Response>
  readonly authenticator: Authenticator
  /** The certificates that the server presents now, in PEM. */
  readonly presented: () => readonly string[]
  /** Undefined where this process is the whole server. */
  readonly others: OtherProcesses | undefined
  readonly clock: Clock
  readonly log: Log
}

const ASSETS = `${CONSOLE_PATH}/assets/`
const API = `${CONSOLE_PATH}/api`
const NOTHING = new Uint8Array(0)

export class Console {
  readonly #parts: ConsoleParts
  readonly #files: StaticFiles
  readonly #sessions: Sessions
  readonly #codes: Codes
  readonly #login: Login
  readonly #names: PresentedNames

  constructor(parts: ConsoleParts) {
    const { clock, others, authenticator, log } = parts
    this.#parts = parts
    this.#files = new StaticFiles(parts.files)
    this.#names = new PresentedNames(parts.presented)
    this.#sessions = new Sessions(clock, others)
    this.#codes = new Codes(clock, others)
    this.#login = new Login({ clock, sessions: this.#sessions, codes: this.#codes, authenticator, log })
  }

  /** Answers a request whose path `isOfConsole`. */
  async answer(request: Request): Promise<Response> {
    return withConsoleHeaders(await this.#route(request).catch(error => this.#failed(error)))
  }

  /** The authorities of client certificates have changed. */
  authoritiesChanged(): void {
    this.#sessions.endCertified()
    this.#codes.forgetCertified()
  }

  close(): void {
    this.#sessions.close()
  }

  async #route(request: Request): Promise<Response> {
    if (!this.#names.has(hostOf(request))) return textResponse(421, 'the certificate of this server is not for that host; see --tls-san\n')
    const [path = ''] = request.target.split('?', 1)
    if (path === `${CONSOLE_PATH}/codes`) return await this.#login.code(request)
    if (path === `${CONSOLE_PATH}/session`) {
      checkSamePage(request)
      return await this.#login.session(request)
    }
    if (path.startsWith(`${API}/`)) return await this.#callApi(request)
    return await this.#file(request, path)
  }

  async #callApi(request: Request): Promise<Response> {
    checkSamePage(request)
    const { session } = await this.#login.visit(request)
    const asked = new SessionRequest(request, request.target.slice(API.length), session.credential)
    return withinSession(await this.#parts.serve(asked), session)
  }

  async #file(request: Request, path: string): Promise<Response> {
    if (path === CONSOLE_PATH) return { status: 308, headers: { location: `${CONSOLE_PATH}/` }, body: NOTHING }
    if (request.method !== 'GET' && request.method !== 'HEAD') return textResponse(405, '405 method not allowed\n')
    const found = path.startsWith(ASSETS) ? this.#files.asset(request, path.slice(ASSETS.length)) : this.#files.page(request)
    return request.method === 'HEAD' ? withoutBody(await found) : await found
  }

  #failed(error: unknown): Response {
    if (error instanceof StatusError) return bytesResponse(error.code, 'application/json', Buffer.from(JSON.stringify(statusOf(error))))
    const id = newUuid()
    this.#parts.log.error({ id, error: failureStack(error) }, 'a request of the console failed')
    return textResponse(500, `Internal Server Error: the log of the server has more, see ${id}\n`)
  }
}
