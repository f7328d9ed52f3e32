/** Manifests with their place in files: each document of each file below some paths. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml } from '../../codec/yaml.ts'
import { isObject, type JsonObject } from '../../lib/json-value.ts'
import { ConfigError } from '../../server/config.ts'
import { type Position, Positions } from './positions.ts'

export type Document = {
  readonly file: string
  readonly object: JsonObject
  /** The position of a field. */
  at(field: string): Position
}

export type Unreadable = { readonly file: string; readonly position: Position; readonly message: string }

const EXTENSIONS = /\.(ya?ml|json)$/

/** Reads files, and folders with all folders below them. Throws ConfigError for a path that does not exist. */
export function readDocuments(paths: readonly string[]): (Document | Unreadable)[] {
  return paths.flatMap(filesBelow).flatMap(documentsIn)
}

function filesBelow(path: string): string[] {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory()
  if (isFolder === undefined) throw new ConfigError(`there is no ${path}`)
  if (!isFolder) return [path]
  const entries = readdirSync(path, { withFileTypes: true }).filter(entry => !entry.name.startsWith('.') && entry.name !== 'node_modules')
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(entry =>
      entry.isDirectory() ? filesBelow(join(path, entry.name)) : EXTENSIONS.test(entry.name) ? [join(path, entry.name)] : [],
    )
}

function documentsIn(file: string): (Document | Unreadable)[] {
  let line = 1
  const found: (Document | Unreadable)[] = []
  // A line that begins with three dashes ends a document, whatever its context, as in kubectl.
  for (const [index, part] of readFileSync(file, 'utf8')
    .split(/^(---(?=\s|$).*)$/m)
    .entries()) {
    // Separators stand between documents.
    if (index % 2 === 0 && !/^\s*(#.*\s*)*$/.test(part)) found.push(...documentIn(file, part, line))
    line += part.split('\n').length - 1
  }
  return found
}

function documentIn(file: string, text: string, firstLine: number): (Document | Unreadable)[] {
  try {
    const { value } = parseYaml(text)
    return unlisted(file, value as JsonObject, '', new Positions(text, firstLine))
  } catch (error) {
    const { message } = error as Error
    const [, line = '1'] = /line (\d+)/.exec(message) ?? []
    const problem = message.replace(/^error converting YAML to JSON: (yaml: )?(line \d+: )?/, '').split('\n')[0]!
    return [{ file, position: { line: firstLine + Number(line) - 1, column: 1 }, message: `no YAML: ${problem}` }]
  }
}

/** The items of lists are documents of their own. */
function unlisted(file: string, object: JsonObject, path: string, positions: Positions): (Document | Unreadable)[] {
  const position = (field: string) => positions.of(path === '' ? field : `${path}.${field}`)
  if (!isObject(object) || typeof object['apiVersion'] !== 'string' || typeof object['kind'] !== 'string')
    return [{ file, position: position(''), message: 'every object needs an apiVersion and a kind' }]
  if (!object['kind'].endsWith('List') || !Array.isArray(object['items'])) return [{ file, object, at: position }]
  return object['items'].flatMap((item, index) =>
    unlisted(file, item as JsonObject, `${path === '' ? '' : `${path}.`}items[${index}]`, positions),
  )
}
