/** Which objects a list, watch or delete collection is about: as a query for the server, as a test for the checker. */
import type { Labels } from './history.ts'

export const RESOURCES = {
  configmaps: { group: '/api/v1', kind: 'ConfigMap', apiVersion: 'v1', namespaced: true },
  deviceclasses: { group: '/apis/resource.k8s.io/v1', kind: 'DeviceClass', apiVersion: 'resource.k8s.io/v1', namespaced: false },
} as const
export type Plural = keyof typeof RESOURCES

export type Requirement = {
  readonly label: string
  readonly operator: 'in' | 'notin' | 'exists' | 'absent'
  readonly values?: readonly string[]
}
export type Selection = {
  readonly resource: Plural
  readonly namespace?: string
  readonly name?: string
  readonly labels?: Requirement
}

/** Whether an object with this key and these labels is selected. */
export function matches({ resource, namespace, name, labels }: Selection, key: string, has: Labels): boolean {
  const [plural, itsNamespace, itsName] = key.split('/')
  if (plural !== resource || (namespace !== undefined && namespace !== itsNamespace) || (name !== undefined && name !== itsName))
    return false
  if (labels === undefined) return true
  const value = Object.hasOwn(has, labels.label) ? has[labels.label] : undefined
  switch (labels.operator) {
    case 'in':
      return value !== undefined && labels.values!.includes(value)
    case 'notin':
      return value === undefined || !labels.values!.includes(value)
    case 'exists':
      return value !== undefined
    case 'absent':
      return value === undefined
  }
}

/** The path of the collection and the query that says the rest. */
export function collectionPath({ resource, namespace }: Selection): string {
  const { group } = RESOURCES[resource]
  return namespace === undefined ? `${group}/${resource}` : `${group}/namespaces/${namespace}/${resource}`
}

export function selectorQuery({ name, labels }: Selection): Record<string, string> {
  return {
    ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }),
    ...(labels !== undefined && { labelSelector: labelSelector(labels) }),
  }
}

function labelSelector({ label, operator, values = [] }: Requirement): string {
  if (operator === 'exists') return label
  if (operator === 'absent') return `!${label}`
  if (values.length > 1) return `${label} ${operator} (${values.join()})`
  return `${label}${operator === 'in' ? '=' : '!='}${values[0]}`
}

export const showSelection = (selection: Selection): string =>
  [collectionPath(selection), ...Object.values(selectorQuery(selection))].join(' ')
