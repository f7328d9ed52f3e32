/** Commands that are run on the main thread: small ones, which do little and look at nothing. */
import type { PodObject } from '../../kinds/core/pod/preparation.ts'
import { type Container, containersOf } from '../../kinds/shapes/pod/containers/container.ts'
import { LIMITS } from '../../lib/limits.ts'
import { Budget } from '../container/budget.ts'
import { type ContainerInputs, NO_INPUTS } from '../container/container-inputs.ts'
import { isOwnPath, isReadOnlyPath } from '../container/files.ts'
import type { Understood } from '../container/understood.ts'
import { type Command, understand } from './command.ts'

class LooksAtInputs extends Error {}

const refuse = (): never => {
  throw new LooksAtInputs()
}

/** Undefined for commands that are not small enough. */
export function runHere(
  command: Command,
  inputs: ContainerInputs = NO_INPUTS,
): { readonly understood: Understood | undefined } | undefined {
  if (sizeOf(command) > LIMITS.commands.inlineCommandBytes) return undefined
  try {
    const understood = understand(command, { inputs, budget: new Budget(LIMITS.commands.inline) })
    return understood?.exceeded === undefined ? { understood } : undefined
  } catch (error) {
    if (error instanceof LooksAtInputs) return undefined
    throw error
  }
}

/** What small commands of a container may know without looking at anything: where they can write, where there is little to look through. */
export function inputsHere(pod: PodObject, container: Container): ContainerInputs {
  const isSmall =
    containersOf(pod.spec).length <= FEW && (container.volumeMounts?.length ?? 0) <= FEW && (pod.spec.volumes?.length ?? 0) <= FEW
  return {
    variables: refuse,
    file: refuse,
    identity: refuse,
    isReadOnly: isSmall ? path => isReadOnlyPath(path, pod, container) : refuse,
    isOwn: isSmall ? path => isOwnPath(path, pod, container) : refuse,
  }
}

const FEW = 16

/** The bytes of its words; it ends where they are too many. */
function sizeOf({ command, args }: Command): number {
  let size = 0
  for (const words of [command, args])
    for (const word of words ?? []) {
      size += word.length + 1
      if (size > LIMITS.commands.inlineCommandBytes) return size
    }
  return size
}
