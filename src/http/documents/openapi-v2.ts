/** OpenAPI 2: one document for the whole API, which older clients read. */
import type { JsonObject } from '../../lib/json-value.ts'
import type { Contents } from './openapi-contents.ts'
import { type Operation, pathItems } from './openapi-operations.ts'
import type { Parameter } from './openapi-parameters.ts'
import { DESCRIPTIONS } from './openapi-v3.ts'

/** The document of all parts. */
export function openApiV2({ paths, definitions }: Contents): JsonObject {
  return {
    swagger: '2.0',
    info: { title: 'Keelson', version: 'unversioned' },
    paths: pathItems(paths, { operation: operationV2, parameter: parameterV2 }),
    definitions: definitions.all(),
    securityDefinitions: {
      BearerToken: { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' },
    },
    security: [{ BearerToken: [] }],
  }
}

/** Old clients look for parameters such as `dryRun` in the operation itself, so all are inlined. */
function operationV2({ operationId, doc, tag, parameters, body, codes, answer, media, consumes, action, kind }: Operation): JsonObject {
  const responses: JsonObject = {}
  for (const code of codes) responses[code] = { description: DESCRIPTIONS[code], schema: answer }
  responses['401'] = { description: 'Unauthorized' }
  const sent: JsonObject[] = body ? [{ name: 'body', in: 'body', ...(body.required ? { required: true } : {}), schema: body.schema }] : []
  return {
    description: doc,
    consumes: [...(consumes ?? body?.media ?? ['*/*'])],
    produces: [...media],
    schemes: ['https'],
    tags: [tag],
    operationId,
    parameters: [...sent, ...parameters.map(parameterV2)],
    responses,
    ...(action ? { 'x-kubernetes-action': action } : {}),
    ...(kind ? { 'x-kubernetes-group-version-kind': { group: kind.group, version: kind.version, kind: kind.kind } } : {}),
  }
}

function parameterV2({ name, in: location, type, doc }: Parameter): JsonObject {
  return { uniqueItems: true, type, description: doc, name, in: location, ...(location === 'path' ? { required: true } : {}) }
}
