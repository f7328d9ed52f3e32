/** The commands of a pod as its node asks for them: what they do, once that is known. */
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { Understood } from '../container/understood.ts'

/** Undefined when the command is not understood; `pending` until it is known. */
export type Ran = Understood | undefined | 'pending'

export type Commands = {
  /** What a run of a container does; the first is number 0. */
  readonly run: (container: Container, run: number) => Ran
  /** The same where it is known already; otherwise as if it were not understood, and nothing is run. */
  readonly knownRun: (container: Container, run: number) => Understood | undefined
  /** What the command of a probe or a hook does. */
  readonly command: (words: readonly string[]) => Ran
  /** Why volumes cannot be mounted where a container wants them. */
  readonly mountProblem: (container: Container) => string | undefined | 'pending'
}
