/** Manifests with their place in files: each document of each file below some paths. */
import { parseYaml } from '../../codec/yaml.ts'
import { isObject, type JsonObject } from '../../lib/json-value.ts'
import { documentsIn, filesOf } from '../../library/manifests.ts'
import { type Position, Positions } from './positions.ts'

export type Document = {
  readonly file: string
  readonly object: JsonObject
  /** The position of a field. */
  at(field: string): Position
}

export type Unreadable = { readonly file: string; readonly position: Position; readonly message: string }

/** Reads files, and folders with all folders below them. Throws ManifestError for a path that cannot be read. */
export const readDocuments = (paths: readonly string[]): (Document | Unreadable)[] =>
  paths
    .flatMap(path => filesOf(path, { isDeep: true }))
    .flatMap(file => documentsIn(file).flatMap(({ text, firstLine }) => documentIn(file, text, firstLine)))

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
