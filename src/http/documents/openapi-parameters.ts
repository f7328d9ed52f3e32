/** The parameters of operations: the query of each verb. */
import type { AnyType, Fields } from '../../schema/types.ts'

export type Parameter = {
  readonly name: string
  readonly in: 'query' | 'path'
  readonly type: 'string' | 'integer' | 'boolean'
  readonly doc: string
}

const query = (name: string, type: Parameter['type'], doc: string): Parameter => ({ name, in: 'query', type, doc })

const dryRun = query('dryRun', 'string', 'All: every stage runs and nothing is stored.')
const fieldManager = query(
  'fieldManager',
  'string',
  'The field manager that makes the change; at most 128 printable characters. Apply needs it.',
)
const fieldValidation = query(
  'fieldValidation',
  'string',
  'The treatment of unknown and duplicate fields: Ignore, Warn (the default) or Strict.',
)
const force = query('force', 'boolean', 'Apply takes over fields that others own. Not for other patches.')

const DELETION: readonly Parameter[] = [
  query('gracePeriodSeconds', 'integer', 'Seconds until the object is deleted; zero deletes at once.'),
  query(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Removes an object that can no longer be read, without further checks.',
  ),
  query('orphanDependents', 'boolean', 'Deprecated: whether dependents stay. Use propagationPolicy.'),
  query('propagationPolicy', 'string', 'The treatment of dependents: Orphan, Background or Foreground.'),
]

const SELECTION: readonly Parameter[] = [
  query('continue', 'string', 'The token of the page before, with all other parameters as they were. Not with watch.'),
  query('fieldSelector', 'string', 'Only objects whose fields match.'),
  query('labelSelector', 'string', 'Only objects whose labels match.'),
  query('limit', 'integer', 'The maximum number of objects; if there are more, a continue token is returned. Not with watch.'),
  query('resourceVersion', 'string', 'Which version of the collection may be served.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  query('sendInitialEvents', 'boolean', 'A watch starts with what is there, ended by a bookmark. Needs resourceVersionMatch.'),
  query('shardSelector', 'string', 'Only the part of the collection whose hash is in these ranges.'),
  query('timeoutSeconds', 'integer', 'Ends the call after this time.'),
]

export const PRETTY = query('pretty', 'string', 'true indents the answer.')
export const NAME: Parameter = { name: 'name', in: 'path', type: 'string', doc: 'The name of the object.' }
export const NAMESPACE: Parameter = { name: 'namespace', in: 'path', type: 'string', doc: 'The namespace of the object.' }

/** The path below a proxy. */
export const BELOW: Parameter = { name: 'path', in: 'path', type: 'string', doc: 'The path that is asked for.' }

/** The options of a path that connects, as parameters. */
export function optionParameters(options: Fields): Parameter[] {
  return Object.entries(options).map(([name, [, type, doc = '']]) => query(name, parameterType(type), doc))
}

function parameterType({ shape }: AnyType): Parameter['type'] {
  if (shape.kind === 'list') return parameterType(shape.item)
  if (shape.kind !== 'scalar') return 'string'
  return shape.name === 'bool' ? 'boolean' : shape.name === 'int32' || shape.name === 'int64' ? 'integer' : 'string'
}

export const WRITE: readonly Parameter[] = [dryRun, fieldManager, fieldValidation]
export const PATCH: readonly Parameter[] = [...WRITE, force]
export const DELETE: readonly Parameter[] = [dryRun, ...DELETION]
export const DELETE_COLLECTION: readonly Parameter[] = byName([dryRun, ...DELETION, ...SELECTION])
export const LIST: readonly Parameter[] = byName([
  ...SELECTION,
  query('allowWatchBookmarks', 'boolean', 'A watch may send BOOKMARK events.'),
  query('watch', 'boolean', 'Answers with a stream of changes instead of a list.'),
])

function byName(parameters: Parameter[]): Parameter[] {
  return parameters.sort((a, b) => (a.name < b.name ? -1 : 1))
}
