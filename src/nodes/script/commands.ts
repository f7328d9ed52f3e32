/** The results of the commands of a pod, and requests for those that are not known yet. */
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { Understood } from '../container/understood.ts'

/** Undefined when the command is not understood; `pending` until its result is known. */
export type Ran = Understood | undefined | 'pending'

/** Looks results up. A result that is `pending` has to be requested. */
export type Commands = {
  /** The result of a run of a container; the first run is number 0. */
  readonly run: (container: Container, run: number) => Ran
  /** The same where it is known already; otherwise undefined, as if the command were not understood. */
  readonly knownRun: (container: Container, run: number) => Understood | undefined
  /** The result of the command of a probe or a hook. */
  readonly command: (words: readonly string[]) => Ran
  /** Why the volumes of a container cannot be mounted at the paths that it names. */
  readonly mountProblem: (container: Container) => string | undefined | 'pending'
}

/** Names a result that is not known yet. */
export type CommandRequest =
  | { readonly type: 'run'; readonly container: Container; readonly run: number }
  | { readonly type: 'command'; readonly words: readonly string[] }
  | { readonly type: 'mounts'; readonly container: Container }

/** The same commands; a request for each pending result is added to a list. */
export function collectRequests(commands: Commands, requests: CommandRequest[]): Commands {
  const collected = <R>(result: R | 'pending', request: CommandRequest): R | 'pending' => {
    if (result === 'pending') requests.push(request)
    return result
  }
  return {
    run: (container, run) => collected(commands.run(container, run), { type: 'run', container, run }),
    knownRun: commands.knownRun,
    command: words => collected(commands.command(words), { type: 'command', words }),
    mountProblem: container => collected(commands.mountProblem(container), { type: 'mounts', container }),
  }
}
