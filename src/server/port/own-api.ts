/** The part of the document of `/keelson/v1` about access, the store and the health of a server. */
import type { ApiPart } from '../../http/documents/own-api.ts'
import { answer, FILE, flag, listOf, query, text } from '../../http/documents/own-api-schemas.ts'

export const SERVER_API: ApiPart = {
  paths: {
    '/keelson/v1/access': {
      get: {
        summary: 'The role bindings that permit a request, and so whom; either resource or path names it',
        parameters: [
          { ...query('verb', 'such as create', text), required: true },
          query('path', 'of no resource, such as /metrics', text),
          query('group', 'of the resource', text),
          query('resource', 'its plural', text),
          query('subresource', 'such as status', text),
          query('namespace', 'without it, all', text),
          query('name', 'without it, all', text),
        ],
        responses: {
          200: answer('bindings', { type: 'object', properties: { isComplete: flag, bindings: listOf({ type: 'object' }) } }),
        },
      },
    },
    '/keelson/v1/store/snapshot': {
      get: {
        summary: 'All stored records as a file, for keelson snapshot save and restore',
        responses: { 200: { description: 'the file', content: FILE }, 501: answer('the records are in etcd') },
      },
    },
    '/keelson/v1/doctor': {
      get: {
        summary: 'What keelson doctor asks a server: lines of JSON, progress and then the report',
        responses: { 200: { description: 'the lines', content: { 'application/x-ndjson': {} } } },
      },
    },
  },
}
