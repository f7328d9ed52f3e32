/**
 * `/keelson/v1/access?verb=…`: the role bindings that permit a request, and so whom. It reads the roles and bindings of all namespaces, so
 * it requires a permission of its own, to `get` this nonResourceURL.
 */
import type { Binding } from '../../authz/role-index.ts'
import type { EndpointRule } from '../../http/endpoints.ts'
import { bytesResponse } from '../../http/message.ts'
import type { Attributes } from '../../schema/access.ts'
import { badRequest, methodNotAllowed } from '../../schema/status-error.ts'
import type { Config } from '../config.ts'

export const ACCESS_PATH = '/keelson/v1/access'

export type AccessEndpointParts = {
  readonly permittedBy: (attributes: Attributes) => Promise<readonly Binding[]>
  readonly config: Pick<Config, 'authorizationMode' | 'authorizationConfig'>
}

const PARAMETERS = ['verb', 'path', 'group', 'resource', 'subresource', 'namespace', 'name'] as const
const MAX_LENGTH = 1_000

export const accessEndpoint = ({ permittedBy, config }: AccessEndpointParts): EndpointRule => ({
  path: ACCESS_PATH,
  hidden: true,
  describe: async () => (await import('./own-api.ts')).SERVER_API,
  async answer({ method }, { query }) {
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
    const attributes = readAttributes(query)
    const modes = config.authorizationConfig === undefined ? config.authorizationMode : []
    // Without RBAC roles permit nothing; beside it, others may permit more.
    const bindings = config.authorizationConfig === undefined && !modes.includes('RBAC') ? [] : await permittedBy(attributes)
    const isComplete = modes.length === 1 && modes[0] === 'RBAC'
    return bytesResponse(200, 'application/json', Buffer.from(`${JSON.stringify({ isComplete, bindings: bindings.map(described) })}\n`))
  },
})

function readAttributes(query: URLSearchParams): Attributes {
  const given = Object.fromEntries(query)
  for (const [name, value] of query)
    if (!PARAMETERS.some(known => known === name) || value.length > MAX_LENGTH)
      throw badRequest(`access is asked for with ${PARAMETERS.join(', ')}, each of ${MAX_LENGTH} characters at most`)
  const { verb = '', path = '', group = '', resource: plural = '', subresource = '', namespace = '', name = '' } = given
  if (verb === '' || (path === '') === (plural === '')) throw badRequest('verb is required, and either resource or path')
  if (path !== '') return { verb, path }
  return { verb, path: '', resource: { group, version: '*', plural, subresource, namespace, name } }
}

const described = ({ namespace, name, roleRef: { kind, name: role }, subjects }: Binding) => ({
  kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
  ...(namespace !== '' && { namespace }),
  name,
  roleRef: { kind, name: role },
  subjects: subjects.map(subject => ({
    kind: subject.kind,
    name: subject.name,
    // The namespace of an account is that of the binding, where it has none.
    ...(subject.kind === 'ServiceAccount' && { namespace: subject.namespace || namespace }),
  })),
})
