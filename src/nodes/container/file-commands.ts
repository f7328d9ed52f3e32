/** Commands about files and other small things, as a table: each says what it prints and how it ends, or nothing where it cannot know. */
import { posix } from 'node:path'
import { wallMs } from '../../lib/environment.ts'
import { createArchive, extractArchive } from './archive.ts'
import { bytesOfText, textOfBytes } from './byte-text.ts'
import type { Identity } from './identity.ts'
import { CGROUP_MOUNT } from './managed-files.ts'

/** The content of a file, as a text of bytes. */
export type Content = { readonly text: string }

/** The files of a container, as a command sees them. */
export type ShellFiles = {
  /** Undefined when the content is unknown. */
  readonly read: (path: string) => Content | 'missing' | undefined
  /** The names in a directory; undefined when they are unknown. */
  readonly names: (path: string) => readonly string[] | undefined
  /** Undefined when that is unknown. */
  readonly isDirectory: (path: string) => boolean | undefined
  readonly isReadOnly: (path: string) => boolean
  readonly write: (path: string, text: string) => void
  readonly remove: (path: string) => void
  /** Standard input; undefined when it is unknown. */
  readonly input: () => string | undefined
  /** Whether a client runs the command, once; the command of a container may be computed again at any time. */
  readonly isInteractive: boolean
  readonly identity: () => Identity | undefined
}

export type Done = { readonly text: string; readonly exitCode: number; readonly error?: string }
type Run = (args: readonly string[], files: ShellFiles, name: string) => Done | undefined

const ended = (text: string, exitCode = 0): Done => ({ text, exitCode })
const failed = (error: string, exitCode = 1): Done => ({ text: '', error, exitCode })

const plain = (args: readonly string[]): string[] => args.filter(arg => !arg.startsWith('-'))
const options = (args: readonly string[]): string => args.filter(arg => /^-[A-Za-z0-9]+$/.test(arg)).join('')

/** Undefined for commands that are not in the table, and where the result depends on something unknown. */
export function fileCommand(name: string, args: readonly string[], files: ShellFiles): Done | undefined {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name]!(args, files, name) : undefined
}

/** Copies, or moves, one file; the path where it is, if the target is a directory, keeps its name. */
const copied =
  (isMoved: boolean): Run =>
  (args, files, name) => {
    const [from, to, ...more] = plain(args)
    if (from === undefined || to === undefined || more.length > 0) return undefined
    const found = files.read(from)
    if (found === 'missing') return failed(`${name}: can't ${isMoved ? 'rename' : 'stat'} '${from}': No such file or directory\n`)
    if (found === undefined) return undefined
    const target = to.endsWith('/') || files.isDirectory(to) === true ? posix.join(to, posix.basename(from)) : to
    const [closed] = [target, ...(isMoved ? [from] : [])].filter(path => files.isReadOnly(path))
    if (closed !== undefined) return failed(`${name}: can't create '${closed}': Read-only file system\n`)
    files.write(target, found.text)
    if (isMoved) files.remove(from)
    return ended(options(args).includes('v') ? `'${from}' -> '${target}'\n` : '')
  }

const list: Run = (args, files) => {
  const flags = options(args)
  if (/[^1aAd]/.test(flags.replaceAll('-', ''))) return undefined
  const paths = plain(args)
  if (paths.length === 0) return undefined
  const listings: string[] = []
  for (const path of paths) {
    const found = files.read(path)
    const names = found === 'missing' || found === undefined ? files.names(path) : undefined
    if (found !== undefined && found !== 'missing') listings.push(`${path}\n`)
    else if (names && flags.includes('d')) listings.push(`${path}\n`)
    else if (names) listings.push(`${paths.length > 1 ? `${path}:\n` : ''}${names.map(each => `${each}\n`).join('')}`)
    else if (found === 'missing') return failed(`ls: ${path}: No such file or directory\n`)
    else return undefined
  }
  return ended(listings.join(''))
}

const sequence: Run = args => {
  const numbers = args.map(arg => (/^-?\d{1,6}$/.test(arg) ? Number(arg) : Number.NaN))
  if (numbers.length === 0 || numbers.length > 3 || numbers.some(Number.isNaN)) return undefined
  const [first, step, last] = numbers.length === 1 ? [1, 1, numbers[0]!] : numbers.length === 2 ? [numbers[0]!, 1, numbers[1]!] : numbers
  if (!step || (last! - first!) / step > MAX_SEQUENCE) return undefined
  let text = ''
  for (let each = first!; step > 0 ? each <= last! : each >= last!; each += step) text += `${each}\n`
  return ended(text)
}
const MAX_SEQUENCE = 10_000

/** A format with `%s` and `%d` alone, and the usual escapes. */
const printf: Run = ([format = '', ...args]) => {
  if (/%[^sd%]/.test(format)) return undefined
  let at = 0
  const text = format
    .replace(/\\([nt\\])/g, (_, letter: string) => ({ n: '\n', t: '\t', '\\': '\\' })[letter]!)
    .replace(/%[sd%]/g, each => (each === '%%' ? '%' : (args[at++] ?? '')))
  return at < args.length ? undefined : ended(text)
}

/** Input, or the one file that is named, as a whole. */
function wholeInput(args: readonly string[], files: ShellFiles): Content | undefined {
  const [path, ...more] = plain(args)
  if (more.length > 0) return undefined
  if (path === undefined) {
    const text = files.input()
    return text === undefined ? undefined : { text }
  }
  const found = files.read(path)
  return found === 'missing' ? undefined : found
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))
const textOf = (lines: readonly string[]): string => lines.map(line => `${line}\n`).join('')

/** A tool without options that turns its input into other lines. */
const lineTool =
  (change: (lines: string[]) => string[]): Run =>
  (args, files) => {
    const input = args.some(arg => arg.startsWith('-')) ? undefined : wholeInput(args, files)
    return input === undefined ? undefined : ended(textOf(change(linesOf(input.text))))
  }

const base64: Run = (args, files) => {
  const flags = options(args).replaceAll('-', '')
  if (/[^dDw0]/.test(flags)) return undefined
  const input = wholeInput(
    args.filter(arg => arg !== '0'),
    files,
  )
  if (input === undefined) return undefined
  if (/[dD]/.test(flags)) return ended(textOfBytes(Buffer.from(input.text, 'base64')))
  const encoded = bytesOfText(input.text).toString('base64')
  return ended(flags.includes('w') ? encoded : `${encoded.replace(/(.{76})(?=.)/g, '$1\n')}\n`)
}

/** Bytes and characters in canonical form: sixteen a line. */
const hexdump: Run = (args, files) => {
  const input = options(args) === '-C' ? wholeInput(args, files) : undefined
  if (!input) return undefined
  const bytes = bytesOfText(input.text)
  const offset = (at: number) => at.toString(16).padStart(8, '0')
  let [text, last] = ['', '']
  for (let at = 0; at < bytes.length; at += 16) {
    const line = [...bytes.subarray(at, at + 16)]
    // Lines that repeat the one before are shown once.
    const same = line.join() === last
    last = line.join()
    if (same) {
      if (!text.endsWith('*\n')) text += '*\n'
      continue
    }
    const numbers = line.map((byte, i) => `${i === 8 ? ' ' : ''}${byte.toString(16).padStart(2, '0')} `).join('')
    const shown = line.map(byte => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
    text += `${offset(at)}  ${numbers.padEnd(50)}|${shown}|\n`
  }
  return ended(bytes.length === 0 ? '' : `${text}${offset(bytes.length)}\n`)
}

const tee: Run = (args, files) => {
  const input = files.input()
  if (input === undefined) return undefined
  for (const path of plain(args)) {
    const before = options(args).includes('a') ? files.read(path) : undefined
    files.write(path, (typeof before === 'object' ? before.text : '') + input)
  }
  return ended(input)
}

/** Archives as `kubectl cp` has them made and unpacked. */
const tar: Run = (args, files) => {
  const [mode = '', ...rest] = args
  const letters = mode.replace(/^-/, '')
  if (!/^[cxmfpo]+$/.test(letters) || !letters.includes('f') || rest[0] !== '-') return undefined
  const at = rest.indexOf('-C')
  const folder = at < 0 ? '/' : (rest[at + 1] ?? '/')
  if (letters.includes('x')) {
    const input = files.input()
    if (input === undefined) return undefined
    const entries = extractArchive(input)
    if (!entries) return failed('tar: short read\n')
    for (const { path, text } of entries) {
      const target = posix.join(folder, path)
      if (files.isReadOnly(target)) return failed(`tar: can't open '${path}': Read-only file system\n`)
      files.write(target, text)
    }
    return ended('')
  }
  const paths = rest.slice(1).filter((_, i) => at < 0 || (i + 1 !== at && i !== at))
  const found: { path: string; text: string }[] = []
  const add = (path: string): 'unknown' | 'missing' | 'added' => {
    const file = files.read(posix.join(folder, path))
    if (file === 'missing' || file === undefined) {
      const names = files.names(posix.join(folder, path))
      if (!names) return file === 'missing' ? 'missing' : 'unknown'
      return names.map(name => add(posix.join(path, name))).find(each => each !== 'added') ?? 'added'
    }
    found.push({ path: path.replace(/^\/+/, ''), text: file.text })
    return 'added'
  }
  for (const path of paths) {
    const outcome = add(path)
    if (outcome === 'unknown') return undefined
    if (outcome === 'missing') return failed(`tar: ${path}: No such file or directory\ntar: error exit delayed from previous errors\n`, 1)
  }
  return ended(createArchive(found))
}

const COMMANDS: Readonly<Record<string, Run>> = {
  cp: copied(false),
  mv: copied(true),
  ls: list,
  tar,
  tee,
  base64,
  hexdump,
  // The mounts of the image's file systems are unknown.
  mount: args => (args.join(' ') === '-t cgroup2' ? ended(CGROUP_MOUNT) : undefined),
  printf,
  seq: sequence,
  sort: lineTool(lines => lines.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))),
  uniq: lineTool(lines => lines.filter((line, i) => line !== lines[i - 1])),
  basename: ([path, ...more]) => (path === undefined || more.length > 0 ? undefined : ended(`${posix.basename(path)}\n`)),
  dirname: ([path, ...more]) => (path === undefined || more.length > 0 ? undefined : ended(`${posix.dirname(path)}\n`)),
  // The time of a container's own command would be another one each time it is computed.
  date: (args, files) => (files.isInteractive && args.length === 0 ? ended(`${new Date(wallMs()).toUTCString()}\n`) : undefined),
  whoami: (_, files) => {
    const user = files.identity()?.user
    return user === 0 ? ended('root\n') : undefined
  },
}
