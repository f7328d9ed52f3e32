// An example: a fault on demand, time that moves, and a snapshot.
using System;
using System.Net.Http;
using System.Text.Json.Nodes;
using System.Threading.Tasks;
using Keelson.Testing;
using Xunit;

public sealed class SettingsTests : IAsyncLifetime
{
    private KeelsonServer _server = null!;
    private string _maps = "";

    public async Task InitializeAsync()
    {
        _server = await KeelsonServer.StartAsync("--nodes=0");
        _maps = $"/api/v1/namespaces/{await _server.CreateNamespaceAsync()}/configmaps";
    }

    public async Task DisposeAsync() => await _server.DisposeAsync();

    private static JsonNode Named(string name) => new JsonObject { ["metadata"] = new JsonObject { ["name"] = name } };

    [Fact]
    public async Task AFaultStrikesOnce()
    {
        var fault = await _server.AddFaultAsync(new { verb = "create", resource = "configmaps", status = 503, times = 1 });
        var refused = await Assert.ThrowsAsync<KeelsonApiException>(() => _server.SendAsync(HttpMethod.Post, _maps, Named("a")));
        Assert.Equal((503, "ServiceUnavailable"), (refused.Status, refused.Reason));
        await _server.SendAsync(HttpMethod.Post, _maps, Named("a"));
        Assert.Equal(1, await _server.HitsAsync(fault));
    }

    [Fact]
    public async Task RequestsAreRecorded()
    {
        await _server.SendAsync(HttpMethod.Post, _maps, Named("sent"));
        Assert.Equal(_maps, (string?)Assert.Single(await _server.RequestsAsync("verb=create", "resource=configmaps"))!["path"]);
        Assert.NotEmpty(await _server.ChangesAsync());
    }

    [Fact]
    public async Task TimeMoves()
    {
        var before = await _server.FreezeAsync();
        Assert.Equal(TimeSpan.FromHours(36), await _server.AdvanceAsync("36h") - before);
    }

    [Fact]
    public async Task ASnapshotBringsAStateBack()
    {
        await _server.SendAsync(HttpMethod.Post, _maps, Named("kept"));
        var kept = await _server.SnapshotAsync();
        await _server.SendAsync(HttpMethod.Delete, $"{_maps}/kept");
        await _server.RestoreAsync(kept);
        Assert.Equal("kept", (string?)(await _server.SendAsync(HttpMethod.Get, $"{_maps}/kept"))!["metadata"]!["name"]);
    }
}
