/**
 * What a container would do, as far as its command tells. A handful of commands are understood, alone or in a script of a shell:
 *
 *     ["sleep", "30"]                           runs for 30 s, then exits with 0
 *     ["sh", "-c", "echo $GREETING; exit 3"]    prints the value of a variable and fails with 3
 *     ["sh", "-c", "while true; do …; done"]    runs on
 *     ["sh", "-c", "[ -f /data/x ] && exit 0; touch /data/x; exit 1"]    fails once, if /data is an emptyDir of its own
 *
 * Everything else is some program that nothing is known of.
 */
import type { Container } from '../../kinds/shapes/pod/containers/container.ts'
import { isAgnhost, runAgnhost } from '../container/agnhost.ts'
import { type ContainerInputs, NO_INPUTS } from '../container/container-inputs.ts'
import { expand } from '../container/expansion.ts'
import { baseName, runCommand, runScript } from '../container/shell.ts'
import type { Understood } from '../container/understood.ts'

const FOREVER: Understood = { runMs: Number.POSITIVE_INFINITY, exitCode: 0, log: '', lastWords: '', ports: [] }
/** A command of more words is not understood, as a script that is too long is not. */
const MOST_WORDS = 1_000
const SHELLS = ['sh', 'bash', 'ash', 'dash']

type Command = Partial<Pick<Container, 'image' | 'command' | 'args' | 'terminationMessagePath'>>

/** What a further run does can depend on what the ones before it have left behind; beyond these it is taken to stay the same. */
const MOST_RUNS = 8

/** What a run does, the first of which is number 0; undefined when the command is not understood. */
export function understandRun(command: Command, inputs: ContainerInputs | undefined, run: number): Understood | undefined {
  let understood = understand(command, inputs)
  let left: ReadonlyMap<string, string> = new Map()
  for (let i = 1; i <= Math.min(run, MOST_RUNS) && understood?.left && !isSame(understood.left, left); i++) {
    left = understood.left
    understood = understand(command, inputs, left)
  }
  return understood
}

const isSame = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean =>
  a.size === b.size && [...a].every(([path, text]) => b.get(path) === text)

/** Undefined when the command is not understood. */
export function understand(
  { image = '', command, args, terminationMessagePath = '' }: Command,
  inputs: ContainerInputs = NO_INPUTS,
  left?: ReadonlyMap<string, string>,
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
  const options = { inputs, lastWordsPath: terminationMessagePath, left, shell: program }
  if (!SHELLS.includes(baseName(program))) return runCommand(words, options)
  return /^-[a-z]*c$/.test(flag) ? runScript(script, options) : undefined
}
