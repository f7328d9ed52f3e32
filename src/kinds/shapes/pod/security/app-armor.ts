/** AppArmor profiles as annotations gave them before there was a field. */
import { deepEqual } from '../../../../lib/json-value.ts'
import type { AppArmorProfile } from './security.ts'

/** Before the name of a container: the annotation with its profile. */
export const APP_ARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/'

/** The profile that an annotation stands for; undefined for what the field cannot say. */
export function appArmorProfileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' }
  if (!annotation.startsWith(LOCALHOST)) return undefined
  const localhostProfile = annotation.slice(LOCALHOST.length)
  const isValid = localhostProfile !== '' && localhostProfile.trim() === localhostProfile && localhostProfile.length <= MAX_PROFILE
  return isValid ? { type: 'Localhost', localhostProfile } : undefined
}

export const isSameProfile = (a: AppArmorProfile, b: AppArmorProfile | undefined): boolean => deepEqual(a, b)

const LOCALHOST = 'localhost/'
const MAX_PROFILE = 4095
