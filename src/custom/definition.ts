/** A CustomResourceDefinition as the server's own parts read it. */

import type { CustomResourceDefinition } from '../kinds/apiextensions/customresourcedefinition.ts'
import type { DefinitionCondition, DefinitionVersion, Status } from '../kinds/apiextensions/definition-shapes.ts'
import { conditionOf, isConditionTrue } from '../schema/conditions.ts'

export type CustomDefinition = CustomResourceDefinition

export const findCondition = (status: Status, type: string): DefinitionCondition | undefined => conditionOf(status.conditions, type)

export const isTrue = (status: Status, type: string): boolean => isConditionTrue(status.conditions, type)

/** Whether a definition's kind is served. */
export const isEstablished = ({ status }: Pick<CustomDefinition, 'status'>): boolean => isTrue(status, 'Established')

/** Whether a definition is being deleted: no more objects may be created. */
export const isTerminating = ({ metadata, status }: CustomDefinition): boolean =>
  metadata.deletionTimestamp !== undefined || isTrue(status, 'Terminating')

/** The version that objects are stored in. */
export function storageVersion({ spec }: Pick<CustomDefinition, 'spec'>): DefinitionVersion {
  const found = spec.versions?.find(version => version.storage)
  if (!found) throw new Error('the definition has no storage version')
  return found
}
