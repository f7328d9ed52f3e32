/** The part of the document of `/keelson/v1` about requests and watches. */
import type { ApiPart } from './own-api.ts'
import { answer, flag, listOf, number, query, reference, text, time } from './own-api-schemas.ts'

const FILTERS = [
  query('user', 'only those of this user', text),
  query('userAgent', 'only those whose user agent contains this', text),
  query('verb', 'such as create or list', text),
  query('resource', 'such as pods or deployments.apps', text),
  query('namespace', 'of the object', text),
  query('name', 'of the object', text),
  query('status', 'such as 404 or 4xx', text),
]

export const REQUESTS_API: ApiPart = {
  paths: {
    '/keelson/v1/requests': {
      get: {
        summary: 'The last requests of all clients, oldest first: with --test-endpoints all since the start or the last reset',
        parameters: [...FILTERS, query('watch', '1 follows them, as lines of JSON', text)],
        responses: { 200: answer('requests', { type: 'object', properties: { since: time, requests: listOf(reference('Request')) } }) },
      },
    },
    '/keelson/v1/requests/bodies': {
      get: {
        summary: 'The bodies of one request, for users who may read its object; without parameters, bodies are recorded from now on',
        parameters: [query('number', 'that of the request'), query('auditID', 'that of the request', text)],
        responses: {
          200: answer('bodies', { type: 'object', properties: { since: time, request: reference('Body'), response: reference('Body') } }),
          404: answer('they are not kept'),
        },
      },
    },
    '/keelson/v1/watches': {
      get: {
        summary: 'The watches and connections that are open',
        responses: { 200: answer('watches', { type: 'object', properties: { watches: listOf({ type: 'object' }) } }) },
      },
    },
  },
  schemas: {
    Request: {
      type: 'object',
      properties: {
        number,
        auditID: text,
        time,
        user: text,
        groups: listOf(text),
        impersonator: text,
        userAgent: text,
        source: text,
        method: text,
        verb: text,
        path: text,
        query: text,
        resource: {
          type: 'object',
          properties: { group: text, version: text, resource: text, subresource: text, namespace: text, name: text },
        },
        status: number,
        ms: { type: 'number' },
        phases: { type: 'object', additionalProperties: { type: 'number' } },
        requestBytes: number,
        responseBytes: number,
        isLongRunning: flag,
        hasBodies: flag,
      },
    },
    Body: { type: 'object', properties: { mediaType: text, bytes: number, text } },
  },
}
