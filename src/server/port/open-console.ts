/** The console of a server, loaded with the first request for it: a start reads nothing of it. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Console, ConsoleParts } from '../../http/console/console.ts'
import { isOfConsole } from '../../http/console/console-path.ts'
import type { Request, Response } from '../../http/message.ts'
import { IS_EXECUTABLE } from '../../lib/executable.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Siblings } from '../processes/siblings.ts'
import { otherProcesses } from './other-processes.ts'

type Serve = (request: Request) => MaybePromise<Response>

/** Request handling with the console in front of it. */
export class ConsoleOfServer {
  readonly #parts: Omit<ConsoleParts, 'files' | 'others'>
  readonly #siblings: Siblings | undefined
  #opening: Promise<Console> | undefined

  constructor(parts: Omit<ConsoleParts, 'files' | 'others'>, siblings: Siblings | undefined) {
    this.#parts = parts
    this.#siblings = siblings
    // A login at another process is looked for here.
    if (siblings) void this.#open()
  }

  readonly serve: Serve = request =>
    isOfConsole(request.target) ? this.#open().then(opened => opened.answer(request)) : this.#parts.serve(request)

  /** The authorities of client certificates have changed. */
  authoritiesChanged(): void {
    void this.#opening?.then(opened => opened.authoritiesChanged())
  }

  async close(): Promise<void> {
    ;(await this.#opening)?.close()
  }

  #open(): Promise<Console> {
    return (this.#opening ??= this.#opened())
  }

  async #opened(): Promise<Console> {
    const { Console } = await import('../../http/console/console.ts')
    const { filesInFolder, PACKED_FILES } = await import('../../http/console/static-files.ts')
    const files = IS_EXECUTABLE ? PACKED_FILES : filesInFolder(consoleFolder())
    return new Console({ ...this.#parts, files, others: this.#siblings && otherProcesses(this.#siblings) })
  }
}

/** The build puts the files of the console beside the bundles, in which `import.meta.url` is empty. */
const consoleFolder = (): string =>
  import.meta.url === '' ? join(__dirname, 'console') : fileURLToPath(new URL('../../../dist/console', import.meta.url))
