/** Runs small commands, which do little and read nothing, on the main thread. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Container, containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { LIMITS } from '../../lib/limits.ts'
import { Budget } from '../container/budget.ts'
import { type ContainerInputs, NO_INPUTS } from '../container/container-inputs.ts'
import { isOwnPath, isReadOnlyPath, startsEmpty } from '../container/files.ts'
import type { Understood } from '../container/understood.ts'
import { type Command, understand } from './command.ts'

/** Undefined for commands that are not small. */
type Here = { readonly understood: Understood | undefined } | undefined

/** Runs the command of a probe or a hook. */
export function commandHere(words: readonly string[]): Here {
  const command = { command: [...words] }
  return isSmall(command) ? remembered(`probe ${keyOf(command)}`, () => run(command, NO_INPUTS)) : undefined
}

/** Runs the command of a container for the first time. */
export function firstRunHere(pod: Pod, container: Container): Here {
  if (!isSmall(container)) return undefined
  return remembered(`container ${keyOf(container)}`, looked => run(container, inputsHere(pod, container, looked)))
}

class LooksAtInputs extends Error {}

const refuse = (): never => {
  throw new LooksAtInputs()
}

function run(command: Command, inputs: ContainerInputs): Here {
  try {
    const understood = understand(command, { inputs, budget: new Budget(LIMITS.commands.inline) })
    return understood?.exceeded === undefined ? { understood } : undefined
  } catch (error) {
    if (error instanceof LooksAtInputs) return undefined
    throw error
  }
}

/** Inputs that know where a container can write, where there is little to search; `looked` is called when that is used. */
function inputsHere(pod: Pod, container: Container, looked: () => void): ContainerInputs {
  const { volumes } = pod.spec
  const isMuch =
    containersOf(pod.spec).length > MAX_SMALL_COUNT ||
    (container.volumeMounts?.length ?? 0) > MAX_SMALL_COUNT ||
    (volumes?.length ?? 0) > MAX_SMALL_COUNT
  const looking = (isSo: typeof isOwnPath) => (path: string) => {
    looked()
    return isMuch ? refuse() : isSo(path, pod, container)
  }
  // Files of the node are kept for other pods.
  const isOwn: typeof isOwnPath = (path, ...of) => (volumes?.some(startsEmpty) ? refuse() : isOwnPath(path, ...of))
  return { variables: refuse, file: refuse, identity: refuse, isReadOnly: looking(isReadOnlyPath), isOwn: looking(isOwn) }
}
const MAX_SMALL_COUNT = 16

/** Results of commands that depend on nothing else: most containers come from a few templates. */
const known = new Map<string, Here>()

function remembered(key: string, make: (looked: () => void) => Here): Here {
  if (known.has(key)) return known.get(key)
  let hasLooked = false
  const found = make(() => {
    hasLooked = true
  })
  if (hasLooked) return found
  if (known.size >= LIMITS.commands.keptInline) known.clear()
  known.set(key, found)
  return found
}

const keyOf = ({ image, command, args, terminationMessagePath }: Command): string =>
  JSON.stringify([image, command, args, terminationMessagePath])

function isSmall({ image = '', command, args, terminationMessagePath = '' }: Command): boolean {
  let size = image.length + terminationMessagePath.length
  for (const word of [command ?? [], args ?? []].flat()) size += word.length + 1
  return size <= LIMITS.commands.inlineCommandBytes
}
