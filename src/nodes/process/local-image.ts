/**
 * Images whose containers run as processes of this machine:
 *
 *     example.com/manager=./bin/manager                   any tag of the image
 *     example.com/manager:v2=go run ./cmd/manager         this tag alone, with words of the command
 *     example.com/server=server --config=$(KUBECONFIG)    variables of the container are expanded
 */
import { basename, isAbsolute, resolve } from 'node:path'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { isShell } from '../container/shell-names.ts'

export type LocalImage = { readonly image: string; readonly command: readonly string[] }

export class LocalImageError extends Error {}

/** Throws LocalImageError. */
export function readLocalImage(text: string): LocalImage {
  const at = text.indexOf('=')
  const [image, command] = at < 0 ? [text, ''] : [text.slice(0, at).trim(), text.slice(at + 1)]
  if (image === '' || /\s/.test(image) || at < 0)
    throw new LocalImageError(`"${text}" must be IMAGE=COMMAND such as example.com/manager=./bin/manager`)
  const [program, ...words] = wordsOf(command)
  if (!program) throw new LocalImageError(`"${text}" names no command`)
  // A path with a directory is relative to the directory in which the server was started.
  return { image, command: [program.includes('/') && !isAbsolute(program) ? resolve(program) : program, ...words] }
}

/** Words of a command: quotes keep spaces, and a backslash keeps the next character. No shell reads it. */
function wordsOf(text: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '\\' && quote !== "'" && i + 1 < text.length) word = (word ?? '') + text[++i]
    else if (quote === '' && (char === '"' || char === "'")) [quote, word] = [char, word ?? '']
    else if (char === quote && quote !== '') quote = ''
    else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + char
  }
  if (quote !== '') throw new LocalImageError(`${quote} is not closed in "${text}"`)
  return word === undefined ? words : [...words, word]
}

export type LocalImages = { readonly of: (image: string | undefined) => LocalImage | undefined; readonly isEmpty: boolean }

/** An entry with a tag or digest takes precedence over one for all tags. */
export function localImages(entries: readonly LocalImage[]): LocalImages {
  const byName = new Map(entries.map(entry => [entry.image, entry]))
  const of = (image = '') => byName.get(image) ?? byName.get(withoutTag(image))
  return { of, isEmpty: byName.size === 0 }
}

const withoutTag = (image: string): string => image.replace(/@.*$/, '').replace(/:[^:/]*$/, '')

/**
 * The words of a container's run. The local command takes the place of the program in the image; a shell is that of this machine, as
 * images have one beside their program.
 */
export function wordsOfRun({ command = [], args = [] }: Container, local: LocalImage): string[] {
  if (command.length > 0 && isShell(command[0]!)) return [...command, ...args]
  return [...local.command, ...command.slice(1), ...args]
}

/** The words of a command inside of a container: of a probe, a hook or a client. */
export function wordsOfCommand(words: readonly string[], { command = [] }: Container, local: LocalImage): string[] {
  const [program = '', ...others] = words
  // The command may begin with a program that starts the one of the image.
  const isOwn = !isShell(program) && (program === command[0] || local.command.some(word => basename(word) === basename(program)))
  return isOwn ? [...local.command, ...others] : [...words]
}
