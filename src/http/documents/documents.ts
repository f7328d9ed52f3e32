/** Discovery and OpenAPI as endpoints of the server: documents with ETags; the response is 304 if the client has them already. */
import { Pace } from '../../lib/pace.ts'
import { run } from '../../lib/step.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { notAcceptable } from '../../schema/status-error.ts'
import type { Aggregated } from '../aggregated.ts'
import type { EndpointRule } from '../endpoints.ts'
import { header, type Request, type Response } from '../message.ts'
import type { Peers } from '../peers.ts'
import { discoveryDocument } from './discovery.ts'
import { isUnchanged, type ServedDocument } from './discovery-document.ts'
import { openApiDocument } from './openapi.ts'

export type DocumentsOptions = {
  readonly catalog: Catalog
  /** `HOST:PORT` that clients should use; known once the server listens. */
  readonly serverAddress: () => string
  readonly now: () => Date
  /** Group versions of other servers. */
  readonly aggregated?: Aggregated
  readonly peers?: Peers | undefined
  readonly gate: (name: string) => boolean
}

/** The endpoints below `/api`, `/apis` and `/openapi`. */
export function documentEndpoints({ catalog, serverAddress, now, aggregated, peers, gate }: DocumentsOptions): EndpointRule[] {
  const hidesStorage = !gate('StorageVersionHash')
  const servesCbor = gate('CBORServingAndStorage')
  const hidesEnums = !gate('OpenAPIEnums')
  const discovery: EndpointRule['answer'] = (request, { path }) => {
    const accept = header(request.headers, 'accept')
    const options = { accept, serverAddress: serverAddress(), aggregated, peers, hidesStorage, servesCbor }
    const document = discoveryDocument(catalog, path, options)
    return document && documentResponse(request, document)
  }
  const openApi: EndpointRule['answer'] = async (request, { path, query }) => {
    const accept = header(request.headers, 'accept')
    const asked = { accept, hash: query.get('hash') ?? undefined, now: now(), aggregated, servesCbor, hidesEnums }
    const answer = await run(openApiDocument(catalog, path, asked), new Pace())
    switch (answer?.type) {
      case undefined:
        return undefined
      case 'document':
        return documentResponse(request, answer.document)
      case 'moved':
        return { status: 301, headers: { location: answer.location }, body: NOTHING }
      case 'not-acceptable':
        throw notAcceptable(['application/json'])
    }
  }
  return [
    { path: '/api', below: true, strict: true, answer: discovery },
    { path: '/apis', below: true, strict: true, everyMethod: path => isOfGroups(path, catalog), answer: discovery },
    { path: '/openapi/v2', answer: openApi },
    { path: '/openapi/v3', below: true, answer: openApi },
  ]
}

/**
 * Whether a path is that of all groups, of one, or of a version of custom kinds: kube-apiserver serves those without checking the method.
 * APIServices are in a group of another router.
 */
function isOfGroups(path: string, catalog: Catalog): boolean {
  const [group = '', version = ''] = path.split('/').slice(2)
  return version === '' ? !group.startsWith('apiregistration.') : !catalog.hasBuiltInGroup(group)
}

const NOTHING = new Uint8Array(0)

function documentResponse(request: Request, document: ServedDocument): Response {
  const headers = { ...document.headers, 'content-type': document.contentType }
  if (isUnchanged(document, header(request.headers, 'if-none-match'))) return { status: 304, headers: document.headers, body: NOTHING }
  return { status: 200, headers, body: document.body }
}
