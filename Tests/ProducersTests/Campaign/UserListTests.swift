import Notifications
import Producers
import Testing

struct UserListTests {
    @Test func `a list is read line by line, and what names nobody is told by number (P8)`() {
        let text = "\u{FEFF}userId,name\r\nu1,Ada\r\n\r\n\"u2\";x\nbad one\n u3 \nu1\n\u{E9}\nu4"
        let list = UserList(Array(text.utf8))
        #expect(list.users.map(\.rawValue) == ["u1", "u2", "u3", "u4"])
        #expect(list.faults.map(\.line) == [5, 8])
        #expect(list.faultCount == 2)
        #expect(list.repeats == 1)
        #expect(UserList([UInt8]()).users.isEmpty)
    }

    @Test func `a list is read no further than it may be long (P8)`() {
        let text = (1...5).map { "u\($0)\nu\($0)\n" }.joined()
        let full = UserList(Array(text.utf8), limit: 5)
        #expect(full.users.count == 5 && full.repeats == 5 && !full.isTooLong)
        let cut = UserList(Array(text.utf8), limit: 4)
        #expect(cut.users.count == 4 && cut.isTooLong)
    }

    @Test func `only the first hundred faults are told, and all are counted (P8)`() {
        let list = UserList(Array(String(repeating: "no user\n", count: 250).utf8))
        #expect(list.faults.count == UserList.toldFaults)
        #expect(list.faultCount == 250)
        #expect(list.users.isEmpty)
    }
}
