-- Requests for wrk, by BENCH_LOAD: each from one of the users whose access tokens stand in BENCH_FOLDER/tokens.

local load, folder, service = os.getenv("BENCH_LOAD"), os.getenv("BENCH_FOLDER"), os.getenv("SERVICE_TOKEN")
local json = "application/json"
local users = {}
local number = 0

local function headers(token)
    return { ["Authorization"] = "Bearer " .. token, ["Content-Type"] = json }
end

local function notification(user)
    return string.format('{"userId":"%d","category":"reminder","body":"You captured something important."}', user)
end

function setup(thread)
    number = number + 1
    thread:set("seed", number)
end

local makers = {
    hello = function() return wrk.format("DELETE", "/api/v1/notifications/device-token/unknown", {}) end,
    inbox = function()
        return wrk.format("GET", "/api/v2/notifications?page=1&limit=20", headers(users[math.random(#users)]))
    end,
    token = function()
        local user = math.random(#users)
        local body = string.format(
            '{"token":"%d","provider":"fcm","platform":"ios","deviceId":"phone","topic":"com.example.impulse",' ..
            '"timezone":"Europe/Oslo"}', user * 2 + math.random(0, 1))
        return wrk.format("POST", "/api/v1/notifications/device-token", headers(users[user]), body)
    end,
    enqueue = function()
        return wrk.format("POST", "/api/v1/notifications", headers(service), notification(math.random(1000000)))
    end,
    bulk = function()
        local list = {}
        for index = 1, 1000 do list[index] = notification(math.random(1000000)) end
        local body = '{"notifications":[' .. table.concat(list, ",") .. "]}"
        return wrk.format("POST", "/api/v1/notifications/bulk", headers(service), body)
    end,
}

-- Requests are made in advance, so that making them costs the machine nothing while it is measured.
local prepared = {}

function init()
    for token in io.lines(folder .. "/tokens") do users[#users + 1] = token end
    math.randomseed(seed)
    local kinds = load == "mixed" and { "hello", "hello", "hello", "inbox" } or { load }
    local count = load == "bulk" and 40 or load == "hello" and 1 or 20000
    for index = 1, count do prepared[index] = makers[kinds[index % #kinds + 1]]() end
end

local turn = 0

function request()
    turn = turn % #prepared + 1
    return prepared[turn]
end

-- One line that the script reads: requests, microseconds, p99 in microseconds, failures, answers that were no success.
function done(summary, latency)
    local errors = summary.errors
    print(string.format("figures %d %d %d %d %d", summary.requests, summary.duration, latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
