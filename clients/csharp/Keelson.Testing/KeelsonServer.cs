// A Kubernetes-compatible API server for tests, with time that moves, faults and snapshots. It needs .NET 8 and no packages.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Threading.Tasks;

namespace Keelson.Testing;

/// <summary>A running server in memory. It ends when it is disposed of, and with this process, however that ends.</summary>
public sealed class KeelsonServer : IAsyncDisposable
{
    private readonly string _folder;
    private readonly Process _process;
    private readonly HttpClient _client;

    private KeelsonServer(string folder, Process process, string token, JsonNode ready)
    {
        _folder = folder;
        _process = process;
        Url = (string)ready["url"]!;
        Kubeconfig = (string)ready["kubeconfig"]!;
        _client = new HttpClient(HandlerTrusting((string)ready["ca"]!)) { BaseAddress = new Uri(Url), Timeout = TimeSpan.FromMinutes(5) };
        _client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
        _client.DefaultRequestHeaders.Accept.Add(new MediaTypeWithQualityHeaderValue("application/json"));
    }

    /// <summary><c>https://HOST:PORT</c>.</summary>
    public string Url { get; }

    /// <summary>The file with the kubeconfig of the administrator: <c>KubernetesClientConfiguration.BuildConfigFromConfigFile(server.Kubeconfig)</c>.</summary>
    public string Kubeconfig { get; }

    /// <summary>Starts a server on a free port, with flags of <c>keelson serve</c> such as <c>--apply=config/crd</c>.</summary>
    public static async Task<KeelsonServer> StartAsync(params string[] flags)
    {
        var folder = Directory.CreateTempSubdirectory("keelson-").FullName;
        var token = Convert.ToHexString(RandomNumberGenerator.GetBytes(16)).ToLowerInvariant();
        var tokens = Path.Combine(folder, "tokens.csv");
        await File.WriteAllTextAsync(tokens, $"{token},keelson-testing,1,\"system:masters\"\n");
        var command = OwnCommand();
        var start = new ProcessStartInfo(command[0]) { RedirectStandardOutput = true, UseShellExecute = false };
        string[] own =
        [
            "serve", "--store=memory", "--secure-port=0", "--output=json", "--exit-with-parent", "--test-endpoints",
            $"--data-dir={folder}", $"--token-auth-file={tokens}",
        ];
        foreach (var argument in command.Skip(1).Concat(own).Concat(flags)) start.ArgumentList.Add(argument);
        var process = Process.Start(start) ?? throw new InvalidOperationException("keelson could not be started");
        var line = await process.StandardOutput.ReadLineAsync();
        if (line is null) throw new InvalidOperationException("keelson did not start; see its messages above");
        return new KeelsonServer(folder, process, token, JsonNode.Parse(line)!);
    }

    /// <summary>Restores the state after the start, and removes faults.</summary>
    public Task ResetAsync() => SendAsync(HttpMethod.Post, "/keelson/v1/reset");

    /// <summary>Keeps the current state in memory; its name.</summary>
    public async Task<string> SnapshotAsync() => (string)(await SendAsync(HttpMethod.Post, "/keelson/v1/snapshots", new JsonObject()))!["name"]!;

    /// <summary>Restores a snapshot, in milliseconds. Revisions go on, and watches see the changes.</summary>
    public Task RestoreAsync(string snapshot) => SendAsync(HttpMethod.Post, $"/keelson/v1/snapshots/{Uri.EscapeDataString(snapshot)}/restore");

    /// <summary>Waits until the server's own controllers have nothing left to do.</summary>
    public Task SettledAsync() => SendAsync(HttpMethod.Get, "/keelson/v1/settled?timeoutSeconds=60");

    /// <summary>What clients have sent since the start or the last reset; a filter is such as <c>verb=update</c> or <c>userAgent=my-controller</c>.</summary>
    public async Task<JsonArray> RequestsAsync(params string[] filters)
    {
        var query = filters.Select(filter => string.Join('=', filter.Split('=', 2).Select(Uri.EscapeDataString)));
        return (await SendAsync(HttpMethod.Get, $"/keelson/v1/requests?{string.Join('&', query)}"))!["requests"]!.AsArray();
    }

    /// <summary>The changes of objects since the start or the last reset.</summary>
    public async Task<JsonArray> ChangesAsync() => (await SendAsync(HttpMethod.Get, "/keelson/v1/changes"))!["changes"]!.AsArray();

    /// <summary>The time of the server.</summary>
    public Task<DateTimeOffset> NowAsync() => ClockAsync(HttpMethod.Get, null);

    /// <summary>Moves the time of the server by a duration such as <c>24h</c>. Whatever is due on the way happens in order and at its time.</summary>
    public Task<DateTimeOffset> AdvanceAsync(string duration) => ClockAsync(HttpMethod.Post, new JsonObject { ["advance"] = duration });

    /// <summary>Stops the time of the server, until it is resumed; it can still be advanced.</summary>
    public Task<DateTimeOffset> FreezeAsync() => ClockAsync(HttpMethod.Post, new JsonObject { ["frozen"] = true });

    /// <summary>Lets the time of the server go on.</summary>
    public Task<DateTimeOffset> ResumeAsync() => ClockAsync(HttpMethod.Post, new JsonObject { ["frozen"] = false });

    /// <summary>Makes requests fail: an object such as <c>new { verb = "update", resource = "configmaps", status = 409, times = 1 }</c>; its id.</summary>
    public async Task<string> AddFaultAsync(object fault) =>
        (string)(await SendAsync(HttpMethod.Post, "/keelson/v1/faults", JsonSerializer.SerializeToNode(fault)))!["id"]!;

    /// <summary>The number of requests that a fault has struck.</summary>
    public async Task<int> HitsAsync(string fault) =>
        (int)(await SendAsync(HttpMethod.Get, $"/keelson/v1/faults/{Uri.EscapeDataString(fault)}"))!["hits"]!;

    /// <summary>Removes all faults.</summary>
    public Task ClearFaultsAsync() => SendAsync(HttpMethod.Delete, "/keelson/v1/faults");

    /// <summary>Makes a namespace for a test; its name.</summary>
    public async Task<string> CreateNamespaceAsync()
    {
        var metadata = new JsonObject { ["generateName"] = "test-" };
        var body = new JsonObject { ["apiVersion"] = "v1", ["kind"] = "Namespace", ["metadata"] = metadata };
        return (string)(await SendAsync(HttpMethod.Post, "/api/v1/namespaces", body))!["metadata"]!["name"]!;
    }

    /// <summary>The JSON of the response to a request as administrator. Throws <see cref="KeelsonApiException"/>.</summary>
    public async Task<JsonNode?> SendAsync(HttpMethod method, string path, JsonNode? body = null)
    {
        using var request = new HttpRequestMessage(method, path);
        if (body is not null) request.Content = new StringContent(body.ToJsonString(), Encoding.UTF8, "application/json");
        using var response = await _client.SendAsync(request);
        var text = await response.Content.ReadAsStringAsync();
        if ((int)response.StatusCode >= 400) throw new KeelsonApiException($"{method} {path}", (int)response.StatusCode, text);
        return JsonNode.Parse(text);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        _client.Dispose();
        // In memory there is nothing to keep.
        if (!_process.HasExited) _process.Kill(entireProcessTree: true);
        await _process.WaitForExitAsync();
        _process.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private async Task<DateTimeOffset> ClockAsync(HttpMethod method, JsonNode? body) =>
        (DateTimeOffset)(await SendAsync(method, "/keelson/v1/clock", body))!["time"]!;

    private static HttpClientHandler HandlerTrusting(string ca)
    {
        var authority = X509Certificate2.CreateFromPem(ca);
        return new HttpClientHandler
        {
            ServerCertificateCustomValidationCallback = (_, certificate, _, _) =>
            {
                using var chain = new X509Chain();
                chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
                chain.ChainPolicy.CustomTrustStore.Add(authority);
                chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
                return certificate is not null && chain.Build(certificate);
            },
        };
    }

    /// <summary>The command that KEELSON names, or that on the PATH, or that of npm.</summary>
    private static IReadOnlyList<string> OwnCommand()
    {
        var named = (Environment.GetEnvironmentVariable("KEELSON") ?? "").Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (named.Length > 0) return named;
        var folders = (Environment.GetEnvironmentVariable("PATH") ?? "").Split(Path.PathSeparator);
        return folders.Any(folder => File.Exists(Path.Combine(folder, "keelson"))) ? ["keelson"] : ["npx", "keelson"];
    }
}

/// <summary>A response with an error.</summary>
public sealed class KeelsonApiException : Exception
{
    internal KeelsonApiException(string request, int status, string text)
        : base($"{request}: {status} {text}")
    {
        Status = status;
        Reason = ReasonIn(text);
    }

    /// <summary>That of HTTP.</summary>
    public int Status { get; }

    /// <summary>That of the API, such as NotFound; empty if there is none.</summary>
    public string Reason { get; }

    private static string ReasonIn(string text)
    {
        try
        {
            return (string?)JsonNode.Parse(text)?["reason"] ?? "";
        }
        catch (Exception error) when (error is JsonException or InvalidOperationException)
        {
            return "";
        }
    }
}
