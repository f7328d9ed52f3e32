/** The console of a server, loaded with the first request for it: a start reads nothing of it. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Console } from '../../http/console/console.ts'
import { isOfConsole } from '../../http/console/console-path.ts'
import type { Request, Response } from '../../http/message.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'

type Serve = (request: Request) => MaybePromise<Response>

/** Request handling with the console in front of it. */
export function withConsole(serve: Serve): Serve {
  let opening: Promise<Console> | undefined
  const open = async () => {
    const { Console } = await import('../../http/console/console.ts')
    return new Console({ folder: consoleFolder() })
  }
  return request => {
    if (!isOfConsole(request.target)) return serve(request)
    opening ??= open()
    return opening.then(opened => opened.answer(request))
  }
}

/** The build puts the files of the console beside the bundles, in which `import.meta.url` is empty. */
const consoleFolder = (): string =>
  import.meta.url === '' ? join(__dirname, 'console') : fileURLToPath(new URL('../../../dist/console', import.meta.url))
