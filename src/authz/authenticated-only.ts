/** The rule until roles exist: authenticated users may do everything, everyone else may ask for health and version. */
import type { Attributes, Decision } from '../schema/access.ts'
import type { User } from '../schema/kind.ts'
import type { Authorizer } from './authorizer.ts'

const ALLOW: Decision = { verdict: 'allow' }
const NO_OPINION: Decision = { verdict: 'no-opinion' }
const PUBLIC = /^\/(healthz|livez|readyz|version)(\/|$)/

export const authenticatedOnly: Authorizer = {
  authorize(user: User, { verb, path, resource }: Attributes): Decision {
    if (user.groups.includes('system:authenticated')) return ALLOW
    return resource === undefined && (verb === 'get' || verb === 'head') && PUBLIC.test(path) ? ALLOW : NO_OPINION
  },
}
