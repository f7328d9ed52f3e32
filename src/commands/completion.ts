/** `keelson completion SHELL`: prints a script that completes commands and flags in a shell. */
import { UsageError } from '../flags/usage-error.ts'
import type { Command } from './command.ts'
import { flagNamesOf } from './help.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** The command that completes these commands. */
export const completionOf =
  (commands: readonly string[]): Command =>
  async ([shell, ...rest]) => {
    const known = SHELLS.find(name => name === shell)
    if (!known || rest.length > 0) throw new UsageError(`keelson completion takes ${SHELLS.join(', ')} and nothing else`)
    process.stdout.write(SCRIPTS[known](commands.map(name => [name, flagNamesOf(name)] as const)))
    return 0
  }

type Commands = readonly (readonly [name: string, flags: readonly string[]])[]

const namesOf = (commands: Commands): string => commands.map(([name]) => name).join(' ')

/** The value of a flag may be a file, which shells complete by themselves. */
const bash = (commands: Commands): string => `_keelson() {
  local words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${namesOf(commands)}"
  else
    case "\${COMP_WORDS[1]}" in
${commands.map(([name, flags]) => `      ${name}) words="${name === 'help' ? namesOf(commands) : flags.join(' ')}" ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _keelson keelson
`

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (commands: Commands) => string>> = {
  bash,
  zsh: commands => `autoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`,
  fish: commands =>
    [
      `complete -c keelson -n __fish_use_subcommand -f -a '${namesOf(commands)}'`,
      ...commands.flatMap(([name, flags]) =>
        flags.map(flag => `complete -c keelson -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
      ),
      '',
    ].join('\n'),
}
