/** Which of the names that a definition asks for it gets: those that no other definition of its group has. */

import type { DefinitionCondition, DefinitionNames } from '../kinds/apiextensions/definition-shapes.ts'
import { goQuote } from '../lib/go-text.ts'
import { deepEqual } from '../lib/json-value.ts'
import { type CustomDefinition, findCondition } from './definition.ts'

type Condition = Omit<DefinitionCondition, 'lastTransitionTime'>
export type Naming = { readonly names: DefinitionNames; readonly accepted: Condition; readonly established: Condition }

/** The names that a definition may have. `group` are all definitions of the same group, this one among them. */
export function acceptNames(definition: CustomDefinition, group: Iterable<CustomDefinition>): Naming {
  const used = usedNames(group)
  const { names: wanted } = definition.spec
  const { acceptedNames: had } = definition.status
  const names: DefinitionNames = { ...had }
  let conflict: { reason: string; message: string } | undefined
  const settle = (name: 'plural' | 'singular' | 'kind' | 'listKind', reason: string, taken: ReadonlySet<string>) => {
    const text = wanted[name] ?? ''
    if (text !== (had[name] ?? '') && taken.has(text)) conflict = { reason, message: inUse(text) }
    else names[name] = text
  }
  settle('plural', 'PluralConflict', used.resources)
  settle('singular', 'SingularConflict', used.resources)
  const taken = (wanted.shortNames ?? []).filter(name => !had.shortNames?.includes(name) && used.resources.has(name))
  if (taken.length > 0) conflict = { reason: 'ShortNamesConflict', message: together(taken.map(inUse)) }
  else setList(names, 'shortNames', wanted.shortNames)
  settle('kind', 'KindConflict', used.kinds)
  settle('listKind', 'ListKindConflict', used.kinds)
  setList(names, 'categories', wanted.categories)
  const accepted: Condition = conflict
    ? { type: 'NamesAccepted', status: 'False', ...conflict }
    : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
  return { names, accepted, established: establishedAfter(definition, accepted) }
}

/** Whether a definition has all the names it asks for. */
export const hasItsNames = ({ spec, status }: CustomDefinition) => deepEqual(spec.names, status.acceptedNames)

function establishedAfter(definition: CustomDefinition, { status }: Condition): Condition {
  const known = findCondition(definition.status, 'Established')
  if (known?.status !== 'True' && status === 'True')
    return { type: 'Established', status: 'False', reason: 'Installing', message: 'the initial names have been accepted' }
  return known ?? { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
}

function usedNames(group: Iterable<CustomDefinition>): { resources: Set<string>; kinds: Set<string> } {
  const resources = new Set<string>()
  const kinds = new Set<string>()
  for (const { status } of group) {
    const { plural, singular, shortNames, kind, listKind } = status.acceptedNames
    for (const name of [plural, singular, ...(shortNames ?? [])]) if (name) resources.add(name)
    for (const name of [kind, listKind]) if (name) kinds.add(name)
  }
  return { resources, kinds }
}

function setList(names: DefinitionNames, field: 'shortNames' | 'categories', list: string[] | undefined): void {
  if (list?.length) names[field] = list
  else delete names[field]
}

const inUse = (name: string) => `${goQuote(name)} is already in use`
/** Several errors in one text, each said once. */
function together(texts: readonly string[]): string {
  const unique = [...new Set(texts)]
  return unique.length === 1 ? unique[0]! : `[${unique.join(', ')}]`
}
