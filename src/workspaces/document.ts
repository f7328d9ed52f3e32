/** The part of the document of `/keelson/v1` about workspaces. */
import type { ApiPart } from '../http/documents/own-api.ts'
import { answer, inPath, listOf, number, reference, text, time } from '../http/documents/own-api-schemas.ts'

const NAME = inPath('name')

const INFO = { name: text, url: text, created: time, objects: number, bytes: number, requests: number }

const SCHEMAS = {
  Workspace: { type: 'object', properties: INFO },
  WorkspaceAccess: {
    type: 'object',
    description: 'A workspace with the access of its administrator: a token, the authority of the server in PEM, and both in a kubeconfig.',
    properties: { ...INFO, token: text, ca: text, kubeconfig: text },
  },
  WorkspaceOptions: {
    type: 'object',
    properties: {
      name: { ...text, description: 'a DNS label; without it, a name is made up' },
      from: {
        type: 'object',
        description: 'the state to begin with; without it, that of a new server',
        properties: {
          snapshot: { ...text, description: 'a snapshot of /keelson/v1/snapshots' },
          workspace: { ...text, description: 'another workspace, as it is now' },
        },
      },
      controllers: { type: 'array', items: text, description: 'as --controllers takes them; default: none' },
      nodes: { ...number, description: 'simulated nodes; default 0' },
      api: { type: 'string', enum: ['none', 'minimal', 'all'], description: "as --api takes it; default: the server's" },
    },
  },
}

const PATHS = {
  '/keelson/v1/workspaces': {
    get: {
      summary: 'The workspaces of the server',
      responses: { 200: answer('all', { type: 'object', properties: { workspaces: listOf(reference('Workspace')) } }) },
    },
    post: {
      summary: 'Makes a workspace: an isolated API server at /workspaces/NAME',
      requestBody: { content: { 'application/json': { schema: reference('WorkspaceOptions') } } },
      responses: {
        201: answer('the workspace', reference('WorkspaceAccess')),
        409: answer('the name is taken, or there are too many', {}),
      },
    },
  },
  '/keelson/v1/workspaces/{name}': {
    parameters: [NAME],
    get: { summary: 'One workspace', responses: { 200: answer('it', reference('WorkspaceAccess')) } },
    delete: { summary: 'Deletes a workspace at once; its watches end', responses: { 200: answer('it', reference('Workspace')) } },
  },
}

export const WORKSPACES_API: ApiPart = { paths: PATHS, schemas: SCHEMAS }
