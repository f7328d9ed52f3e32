/** The console: its files, its sessions, and the API for pages that have one. Loaded with the first request for it. */
import { type Request, type Response, textResponse, withoutBody } from '../message.ts'
import { CONSOLE_PATH } from './console-path.ts'
import { withConsoleHeaders } from './headers.ts'
import { StaticFiles } from './static-files.ts'

export type ConsoleParts = {
  /** The folder that the build has made. */
  readonly folder: string
}

export class Console {
  readonly #files: StaticFiles

  constructor({ folder }: ConsoleParts) {
    this.#files = new StaticFiles(folder)
  }

  /** Answers a request whose path `isOfConsole`. */
  async answer(request: Request): Promise<Response> {
    return withConsoleHeaders(await this.#route(request))
  }

  async #route(request: Request): Promise<Response> {
    const [path = ''] = request.target.split('?', 1)
    if (path === CONSOLE_PATH) return { status: 308, headers: { location: `${CONSOLE_PATH}/` }, body: NOTHING }
    if (request.method !== 'GET' && request.method !== 'HEAD') return textResponse(405, '405 method not allowed\n')
    const below = path.slice(CONSOLE_PATH.length + 1)
    const found = below.startsWith(ASSETS) ? this.#files.asset(request, below.slice(ASSETS.length)) : this.#files.page(request)
    return request.method === 'HEAD' ? withoutBody(await found) : await found
  }
}

const ASSETS = 'assets/'
const NOTHING = new Uint8Array(0)
