/** OpenAPI 3: one document for each part of the API. */
import type { JsonObject } from '../../lib/json-value.ts'
import type { Contents } from './openapi-contents.ts'
import { type Operation, pathItems } from './openapi-operations.ts'
import type { Parameter } from './openapi-parameters.ts'

/** The document of one part. */
export function openApiV3({ paths, definitions }: Contents): JsonObject {
  return {
    openapi: '3.0.0',
    info: { title: 'Keelson', version: 'unversioned' },
    paths: pathItems(paths, { operation: operationV3, parameter: parameterV3 }),
    components: {
      schemas: definitions.all(),
      securitySchemes: { BearerToken: { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' } },
    },
  }
}

function operationV3({ operationId, doc, tag, parameters, body, codes, answer, media, action, kind }: Operation): JsonObject {
  const responses: JsonObject = {}
  for (const code of codes) responses[code] = { description: DESCRIPTIONS[code], content: contentOf(answer, media) }
  responses['401'] = { description: 'Unauthorized' }
  return {
    tags: [tag],
    description: doc,
    operationId,
    ...(parameters.length ? { parameters: parameters.map(parameterV3) } : {}),
    ...(body ? { requestBody: { content: contentOf(body.schema, body.media), ...(body.required ? { required: true } : {}) } } : {}),
    responses,
    ...(action ? { 'x-kubernetes-action': action } : {}),
    ...(kind ? { 'x-kubernetes-group-version-kind': { group: kind.group, version: kind.version, kind: kind.kind } } : {}),
  }
}

export const DESCRIPTIONS = { 200: 'OK', 201: 'Created', 202: 'Accepted' } as const

function contentOf(schema: JsonObject, media: readonly string[]): JsonObject {
  return Object.fromEntries(media.map(type => [type, { schema }]))
}

function parameterV3({ name, in: location, type, doc }: Parameter): JsonObject {
  return { name, in: location, description: doc, ...(location === 'path' ? { required: true } : {}), schema: { type, uniqueItems: true } }
}
