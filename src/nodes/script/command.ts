/**
 * What a container would do, as far as its command tells. A handful of commands are understood, alone or in a script of a shell:
 *
 *     ["sleep", "30"]                           runs for 30 s, then exits with 0
 *     ["sh", "-c", "echo $GREETING; exit 3"]    prints the value of a variable and fails with 3
 *     ["sh", "-c", "while true; do …; done"]    runs on
 *
 * Everything else is some program that nothing is known of.
 */
import type { Container } from '../../kinds/shapes/pod/containers/container.ts'
import { isAgnhost, runAgnhost } from '../container/agnhost.ts'
import { type ContainerInputs, NO_INPUTS } from '../container/container-inputs.ts'
import { expand } from '../container/expansion.ts'
import { baseName, runCommand, runScript, type Understood } from '../container/shell.ts'

const FOREVER: Understood = { runMs: Number.POSITIVE_INFINITY, exitCode: 0, log: '', lastWords: '' }
/** A command of more words is not understood, as a script that is too long is not. */
const MOST_WORDS = 1_000
const SHELLS = ['sh', 'bash', 'ash', 'dash']

type Command = Partial<Pick<Container, 'image' | 'command' | 'args' | 'terminationMessagePath'>>

/** Undefined when the command is not understood. */
export function understand(
  { image = '', command, args, terminationMessagePath = '' }: Command,
  inputs: ContainerInputs = NO_INPUTS,
): Understood | undefined {
  const expanded = (word: string) => (word.includes('$') ? expand(word, name => inputs.variables().get(name)) : word)
  const written = [...(command ?? []), ...(args ?? [])]
  if (written.length > MOST_WORDS) return undefined
  const words = written.map(expanded)
  if (isAgnhost(image)) {
    if (!command?.length) return runAgnhost(['/agnhost', ...words], inputs)
    if (/^agnhost(-2)?$/.test(baseName(words[0]!))) return runAgnhost(words, inputs)
  }
  if (!command?.length && /(^|\/)pause(:|@|$)/.test(image)) return FOREVER
  const [program = '', flag = '', script = ''] = words
  const options = { inputs, lastWordsPath: terminationMessagePath }
  if (!SHELLS.includes(baseName(program))) return runCommand(words, options)
  return /^-[a-z]*c$/.test(flag) ? runScript(script, options) : undefined
}
